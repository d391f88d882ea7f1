import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeImageName } from './image-name.ts';

const digest = `sha256:${'0'.repeat(64)}`;
for (const [text, whole] of [
  ['app', 'docker.io/library/app:latest'],
  ['app:1', 'docker.io/library/app:1'],
  ['me/app:1', 'docker.io/me/app:1'],
  ['docker.io/app', 'docker.io/library/app:latest'],
  ['index.docker.io/me/app', 'docker.io/me/app:latest'],
  ['localhost/app:1', 'localhost/app:1'],
  ['localhost:5001/app', 'localhost:5001/app:latest'],
  ['ghcr.io/a/b-c__d/e.f:v1.2_3', 'ghcr.io/a/b-c__d/e.f:v1.2_3'],
  [`app@${digest}`, `docker.io/library/app@${digest}`],
  [`quay.io/a/b:1@${digest}`, `quay.io/a/b:1@${digest}`],
  ['App', undefined],
  ['a//b', undefined],
  ['app:', undefined],
  ['app:-x', undefined],
  ['app@sha256:12', undefined],
  ['', undefined],
] as const)
  test(`${JSON.stringify(text)} is ${whole ?? 'no name'}`, () => assert.equal(normalizeImageName(text), whole));
