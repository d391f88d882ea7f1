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
} from './directory.ts';

for (const size of [1, 3, 8, 9, 30]) {
  test(`a directory of ${size} names keeps them, in their order`, () => {
    let directory: Directory<{ readonly number: number }> = EMPTY_DIRECTORY;
    const model = new Map<string, { readonly number: number }>();
    const check = (): void => {
      assert.equal(childCount(directory), model.size);
      assert.deepEqual(childrenOf(directory), [...model]);
      for (let number = 0; number < size; number++)
        assert.equal(childOf(directory, `name-${number}`), model.get(`name-${number}`));
    };
    for (let number = 0; number < size; number++) {
      directory = withChild(directory, `name-${number}`, { number });
      model.set(`name-${number}`, childOf(directory, `name-${number}`)!);
      check();
    }
    const other = { number: -1 };
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
