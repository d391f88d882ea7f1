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
}
