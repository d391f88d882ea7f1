import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateIngress } from './ingress.ts';
import { complaints } from './complaints-fixture.ts';

test("invalid ingresses have upstream's errors", () => {
  const rule = {
    http: { paths: [{ path: 'x', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }] },
  };
  assert.deepEqual(
    complaints((field) => validateIngress({ metadata: {}, spec: { rules: [rule] } }, field)),
    ['spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path'],
  );
});
