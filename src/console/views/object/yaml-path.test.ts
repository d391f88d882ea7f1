import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOfLine } from './yaml-path.ts';

const DOCUMENT = `apiVersion: apps/v1
metadata:
  annotations:
    "example.com/a: b": x
spec:
  template:
    spec:
      containers:
      - name: web
        env:
          - name: A
            valueFrom:
              secretKeyRef: {name: keys}

        args:
        - --flag
        - -
        image: nginx
      - image: other
      nodeSelector:
        disk: ssd
  replicas: 2
`;
const lines = DOCUMENT.split('\n');
const at = (content: string): string =>
  pathOfLine(
    lines,
    lines.findIndex((line) => line.includes(content)),
  ).join('.');

test('the field of a line is its key, below all keys with less indentation', () => {
  assert.equal(at('apiVersion'), 'apiVersion');
  assert.equal(at('example.com'), 'metadata.annotations.example.com/a: b');
  assert.equal(at('- name: web'), 'spec.template.spec.containers.[].name');
  assert.equal(at('- name: A'), 'spec.template.spec.containers.[].env.[].name');
  assert.equal(at('secretKeyRef'), 'spec.template.spec.containers.[].env.[].valueFrom.secretKeyRef');
  assert.equal(at('--flag'), 'spec.template.spec.containers.[].args.[]');
  assert.equal(at('image: nginx'), 'spec.template.spec.containers.[].image');
  assert.equal(at('image: other'), 'spec.template.spec.containers.[].image');
  assert.equal(at('disk'), 'spec.template.spec.nodeSelector.disk');
  assert.equal(at('replicas'), 'spec.replicas');
});

test('the field of an empty line is the one that encloses the cursor', () => {
  const empty = lines.findIndex((line) => line === '');
  assert.deepEqual(pathOfLine(lines, empty, 0), []);
  const indented = [...lines.slice(0, empty), '        ', ...lines.slice(empty + 1)];
  assert.equal(pathOfLine(indented, empty).join('.'), 'spec.template.spec.containers.[]');
  assert.equal(pathOfLine(indented, empty, 4).join('.'), 'spec.template');
});
