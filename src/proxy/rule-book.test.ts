import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { endpointChain } from './chains.ts';
import type { Element } from './desired-rules.ts';
import { RuleBook, type Changes } from './rule-book.ts';

const element = (key: string, value: string): Element => ({ id: `services ${key}`, set: 'services', key, value });

/** A table in memory as strict as the kernel: no delete of a missing element, no second add. */
function createTable() {
  const held = new Map<string, string>();
  return {
    held,
    apply({ deletes, adds }: Changes) {
      for (const { id } of deletes) assert.ok(held.delete(id), `delete of missing ${id}`);
      for (const { id, value } of adds) {
        assert.ok(!held.has(id), `second add of ${id}`);
        held.set(id, value);
      }
    },
  };
}

describe('rule book', () => {
  it('after any sequence of owners the table equals the first claims, by changes and by rewrites alike', () => {
    const claims = fc.dictionary(fc.constantFrom('k1', 'k2', 'k3', 'k4'), fc.constantFrom('a', 'b', 'c'));
    const step = fc.record({
      owner: fc.constantFrom('x', 'y', 'z'),
      claims,
      next: fc.constantFrom('wait', 'apply', 'rewrite'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (history) => {
        const book = new RuleBook();
        const table = createTable();
        const owners = new Map<string, Record<string, string>>();
        const settle = (how: string): void => {
          if (how === 'apply') {
            const changes = book.takeChanges();
            table.apply(changes);
            book.applied(changes);
          } else if (how === 'rewrite') {
            const all = book.takeAll();
            table.held.clear();
            table.apply(all);
            book.rewritten(all);
          } else return;
          const expected = new Map<string, string>();
          for (const wanted of owners.values())
            for (const [key, value] of Object.entries(wanted))
              if (!expected.has(`services ${key}`)) expected.set(`services ${key}`, value);
          assert.deepEqual(new Map([...table.held].toSorted()), new Map([...expected].toSorted()));
        };
        for (const { owner, claims: wanted, next } of history) {
          book.replace(
            owner,
            Object.entries(wanted).map(([key, value]) => element(key, value)),
          );
          // Map order is the order of insertion, as ranks are.
          if (Object.keys(wanted).length === 0) owners.delete(owner);
          else owners.set(owner, wanted);
          settle(next);
        }
        settle('apply');
      }),
    );
  });

  it('creates a chain once, after those it jumps to, and reports unused ones', () => {
    const context = { family: 4, clusterCidr: '10.42.0.0/16', mark: 0x4001_0000 } as const;
    const chain = endpointChain(
      { scope: 'address', list: 'cluster', count: 2, affinitySeconds: 0, masquerade: false },
      context,
    );
    const outer = { name: 'outer', rules: [], needs: [chain] };
    const book = new RuleBook();
    book.replace('a', [{ ...element('k', 'goto outer'), chain: outer }]);
    const first = book.takeChanges();
    assert.deepEqual(
      first.chains.map((c) => c.name),
      ['pick-2', 'outer'],
    );
    book.applied(first);
    book.replace('b', [{ ...element('l', 'goto pick-2'), chain }]);
    book.replace('a', []);
    const second = book.takeChanges();
    assert.deepEqual(second.chains, []);
    book.applied(second);
    assert.deepEqual(book.takeAll().staleChains, ['outer']);
  });

  it('adds and removes tens of thousands of owners of one key', () => {
    const book = new RuleBook();
    const owners = Array.from({ length: 15_000 }, (_, at) => `owner ${at}`);
    for (const owner of owners) book.replace(owner, [element('k', owner)]);
    const held = (): string | undefined => book.takeAll().adds[0]?.value;
    assert.equal(held(), 'owner 0');
    for (const owner of owners.slice(0, -1)) book.replace(owner, []);
    assert.equal(held(), 'owner 14999');
  });
});
