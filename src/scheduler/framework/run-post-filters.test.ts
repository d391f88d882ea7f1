import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testPod } from '../scheduler-fixture.ts';
import type { PostFilterInput, PostFilterResult, SchedulerPlugin } from './plugin.ts';
import { makesRoom, runPostFilters } from './run-post-filters.ts';

const done: string[] = [];
const commit =
  (name: string): NonNullable<PostFilterResult['commit']> =>
  async () =>
    void done.push(name);
const nominates: PostFilterResult = { nominatedNode: 'n', victims: 1, commit: commit('evict') };
const releases: PostFilterResult = { message: 'released', commit: commit('release') };

describe('PostFilter', () => {
  const cases: [
    what: string,
    told: PostFilterResult[],
    message: string | undefined,
    commits: string[],
    room: boolean,
  ][] = [
    ['nobody is asked', [], undefined, [], false],
    ['nobody can help', [{ message: 'a' }, { message: 'b' }], 'a, b', [], false],
    ['one gives something back, the next cannot help', [releases, { message: 'b' }], 'released, b', ['release'], false],
    [
      'the second finds a node: what the first did is done too',
      [releases, nominates],
      undefined,
      ['release', 'evict'],
      true,
    ],
    ['the first finds a node: the second is not asked', [nominates, { message: 'never' }], undefined, ['evict'], true],
    ['an earlier nomination is void', [{ message: 'a' }, { nominatedNode: '', message: 'b' }], 'a, b', [], false],
  ];
  for (const later of [false, true])
    for (const [what, told, message, commits, room] of cases)
      test(`${what}${later ? ', in time' : ''}`, async () => {
        done.length = 0;
        const plugins = told.map((result, at): SchedulerPlugin => ({
          name: String(at),
          postFilter: () => (later ? Promise.resolve(result) : result),
        }));
        const question = { state: new Map(), pod: testPod('p'), input: {} as PostFilterInput };
        const result = await runPostFilters(plugins, question);
        await result.commit?.(new AbortController().signal);
        assert.deepEqual([result.message, done, makesRoom(result)], [message, commits, room]);
      });
});
