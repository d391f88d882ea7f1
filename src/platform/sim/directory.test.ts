import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  childCount,
  childOf,
  childrenOf,
  EMPTY_DIRECTORY,
  withChild,
  withoutChild,
  type Directory,
  type Sibling,
} from './directory.ts';

interface Inode extends Sibling<Inode> {
  readonly number: number;
}

const inode = (number: number): Inode => ({ name: '', next: undefined, number });

const filled = (inodes: readonly Inode[]): Directory<Inode> =>
  inodes.reduce<Directory<Inode>>(
    (directory, child) => withChild(directory, `name-${child.number}`, child),
    EMPTY_DIRECTORY,
  );

const namesIn = (directory: Directory<Inode>): string[] => childrenOf(directory).map(({ name }) => name);

for (const size of [1, 3, 8, 9, 30]) {
  test(`a directory of ${size} names keeps them, in their order`, () => {
    let directory: Directory<Inode> = EMPTY_DIRECTORY;
    const model = new Map<string, Inode>();
    const check = (): void => {
      assert.equal(childCount(directory), model.size);
      assert.deepEqual(
        childrenOf(directory).map((child) => [child.name, child.number]),
        [...model].map(([name, { number }]) => [name, number]),
      );
      for (let number = 0; number < size; number++)
        assert.equal(childOf(directory, `name-${number}`), model.get(`name-${number}`));
    };
    for (let number = 0; number < size; number++) {
      directory = withChild(directory, `name-${number}`, inode(number));
      model.set(`name-${number}`, childOf(directory, `name-${number}`)!);
      check();
    }
    const other = inode(-1);
    directory = withChild(directory, 'name-0', other);
    model.set('name-0', other);
    check();
    directory = withoutChild(withoutChild(directory, 'name-0'), 'not there');
    model.delete('name-0');
    check();
    directory = withChild(directory, 'name-0', other);
    model.set('name-0', other);
    check();
    assert.equal(childCount(EMPTY_DIRECTORY), 0);
  });

  test(`an inode that leaves a directory of ${size} names leads to none of them any more`, () => {
    const inodes = Array.from({ length: size }, (_, number) => inode(number));
    let directory = filled(inodes);
    const [removed, replaced] = [inodes[0]!, inodes[Math.floor(size / 2)]!];
    directory = withChild(directory, replaced.name, inode(-1));
    assert.equal(replaced.next, undefined);
    directory = withoutChild(directory, removed.name);
    assert.equal(removed.next, undefined);
    directory = withChild(directory, 'late', inode(-2));
    assert.equal(childCount(directory), size === 1 ? 1 : size);
  });

  test(`of ${size} inodes in a directory any may be put there once more, by its name or another`, () => {
    for (let moved = 0; moved < size; moved++) {
      const inodes = Array.from({ length: size }, (_, number) => inode(number));
      const names = inodes.map(({ number }) => `name-${number}`);
      let directory = withChild(filled(inodes), `name-${moved}`, inodes[moved]!);
      assert.deepEqual(namesIn(directory), names);
      directory = withChild(directory, 'other', inodes[moved]!);
      const others = names.filter((name) => name !== `name-${moved}`);
      assert.deepEqual(namesIn(directory), [...others, 'other']);
      assert.equal(childOf(directory, `name-${moved}`), undefined);
      assert.equal(childOf(directory, 'other'), inodes[moved]);
      if (size === 1) continue;
      const [last] = others.slice(-1);
      directory = withChild(directory, last!, inodes[moved]!);
      assert.deepEqual(namesIn(directory), others);
      assert.equal(childOf(directory, last!), inodes[moved]);
    }
  });
}
