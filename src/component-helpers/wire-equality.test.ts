import assert from 'node:assert/strict';
import { it } from 'node:test';
import { equalStatus } from './wire-equality.ts';

const cases: [string, unknown, unknown, boolean][] = [
  ['zero and absent', { replicas: 2, readyReplicas: 0 }, { replicas: 2 }, true],
  ['empty list and absent', { conditions: [] }, {}, true],
  ['nothing and zeros only', undefined, { replicas: 0, conditions: [] }, true],
  ['zeros inside lists', { conditions: [{ type: 'A', message: '' }] }, { conditions: [{ type: 'A' }] }, true],
  ['another number', { readyReplicas: 1 }, { readyReplicas: 0 }, false],
  ['a list that got longer by an empty element', { list: [{ a: 1 }, {}] }, { list: [{ a: 1 }] }, false],
];
for (const [name, a, b, equal] of cases) it(`status equality: ${name}`, () => assert.equal(equalStatus(a, b), equal));
