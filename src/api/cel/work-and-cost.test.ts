// Expressions whose work is far more than upstream's price of it go over their limit before they hold the loop for long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';
import { Meter, PER_CALL_LIMIT } from './meter.ts';
import { RuntimeError } from './texts.ts';
import { DYN_TYPE } from './types/type.ts';
import { dynValue } from './values.ts';

const environment = createEnvironment({ self: DYN_TYPE });

function cost(expression: string, value: unknown): number | 'exceeded' {
  const meter = new Meter(PER_CALL_LIMIT);
  try {
    compile(expression, { environment }).run({ self: dynValue(value) }, meter);
    return meter.spent;
  } catch (error) {
    if (error instanceof RuntimeError && error.costExceeded) return 'exceeded';
    throw error;
  }
}

const many = (count: number, of: (index: number) => string): string[] => Array.from({ length: count }, (_, i) => of(i));

const dear: Readonly<Record<string, readonly [expression: string, value: unknown]>> = {
  'patterns made at run time': ['self.all(x, !"a".matches(x))', many(5000, (i) => `(a?){90}b${i}`)],
  'a pattern that matches the empty text everywhere': ['self.findAll("(a?){90}").size() > 0', 'ab'.repeat(30_000)],
  'a pattern that no small automaton decides': ['self.matches("^(a|b)*a(a|b){60}$")', 'ab'.repeat(100_000)],
  'moments in named time zones': [
    'self.all(x, timestamp(x).getFullYear("America/New_York") > 1)',
    many(20_000, () => '2024-01-01T00:00:00Z'),
  ],
  'a duration of a million characters': ['duration(self) > duration("1s")', '1s'.repeat(500_001)],
  'characters of long texts': [
    '[1, 2, 3, 4, 5].all(x, [1, 2, 3, 4, 5].all(y, self.charAt(x) != ""))',
    'é'.repeat(100_000),
  ],
};

for (const [name, [expression, value]] of Object.entries(dear))
  test(`it costs more than the limit: ${name}`, () => assert.equal(cost(expression, value), 'exceeded'));

test('names and labels are matched at about the price they have upstream', () => {
  const labels = many(1000, (i) => `label-${i}`);
  assert.ok(Number(cost('self.all(x, x.matches("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"))', labels)) < 60_000);
  assert.ok(Number(cost('self.all(x, x.find("[a-z]+") != "")', labels)) < 60_000);
});
