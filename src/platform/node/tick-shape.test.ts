import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('./tick-shape.ts', import.meta.url).href;

/** The optimization states of `process.nextTick` after ticks, two full collections without any, and ticks. */
function statesAfterCollections(): ReadonlySet<string> {
  const program = `
    const { keepTickShape } = await import(${JSON.stringify(MODULE)});
    keepTickShape();
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const ticks = async () => {
      for (let turn = 0; turn < 200; turn++) {
        for (let count = 0; count < 20; count++) process.nextTick(() => {});
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await ticks();
    for (let collections = 0; collections < 3; collections++) {
      await pause(20);
      gc();
    }
    await ticks();
    %DebugPrint(process.nextTick);`;
  const flags = ['--allow-natives-syntax', '--expose-gc', '--input-type=module'];
  const printed = execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
  return new Set(Array.from(printed.matchAll(/DefineKeyedOwnPropertyInLiteral (\w+)/g), ([, state]) => state!));
}

test('process.nextTick makes objects of one hidden class, also after collections that found none of them', () => {
  assert.deepEqual(statesAfterCollections(), new Set(['MONOMORPHIC']));
});
