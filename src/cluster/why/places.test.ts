/** Explanations at once: whose accounts keep whom from asking. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { Places } from './places.ts';

const user = (name: string, ...groups: string[]): Principal => ({ name, groups });
const account = (namespace: string, name: string, node: string): Principal => ({
  ...user(`system:serviceaccount:${namespace}:${name}`),
  extra: { 'authentication.kubernetes.io/node-name': [node] },
});
const admin = user('kubernetes-admin', 'system:masters');
const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 429;

describe('places of explanations', () => {
  const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
  const places = new Places();
  const hold = (who: Principal): Promise<undefined> => places.use(who, () => held);

  test('accounts of one namespace share two, on all nodes; the last of all is kept for administrators', async () => {
    const works = [hold(account('tenant', 'a', 'n1')), hold(account('tenant', 'b', 'n2'))];
    await assert.rejects(hold(account('tenant', 'c', 'n3')), isRefused);
    for (const name of ['jane', 'joe', 'ann', 'bob', 'eve']) works.push(hold(user(name)));
    await assert.rejects(hold(user('tom')), isRefused);
    works.push(hold(admin));
    await assert.rejects(hold(admin), isRefused);
    release(undefined);
    await Promise.all(works);
    assert.equal(await places.use(user('tom'), () => Promise.resolve('made')), 'made');
    assert.equal(await places.use(account('tenant', 'c', 'n3'), () => Promise.resolve('made')), 'made');
  });
});
