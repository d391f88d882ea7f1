import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPullPolicy } from './image.ts';

test('the default pull policy depends on the tag, and is IfNotPresent for an invalid image name', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const always = ['nginx', 'nginx:latest', 'reg.io:5000/a/b', 'reg.io:5000/a/b:latest', `nginx:latest@${digest}`];
  const ifNotPresent = ['nginx:1', 'reg.io:5000/a:1', `nginx@${digest}`, '', '<your image>', 'Upper/Case', 'nginx:'];
  for (const image of always) assert.equal(defaultPullPolicy(image), 'Always', image);
  for (const image of ifNotPresent) assert.equal(defaultPullPolicy(image), 'IfNotPresent', image);
});
