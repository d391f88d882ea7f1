import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logLineText } from './log-lines.ts';

const line = (component: string | undefined, msg: string): string =>
  JSON.stringify({ level: 'info', time: '2026-01-01T00:00:00Z', ...(component && { component }), node: 'n1', msg });

test('a line as text has its time, level, component, message and fields', () => {
  const text = logLineText(line('kubelet', 'Started'), { component: undefined, asText: true }, new Set());
  assert.equal(text, '2026-01-01T00:00:00Z info  kubelet: Started node="n1"'.replace('"n1"', 'n1'));
});

test('a component has the lines of its sub-components only', () => {
  const seen = new Set<string>();
  const shown = ['kubelet', 'kubelet.volumes', 'kubelet-server', 'scheduler', undefined].map(
    (component) => logLineText(line(component, 'x'), { component: 'kubelet', asText: true }, seen) !== undefined,
  );
  assert.deepEqual(shown, [true, true, false, false, false]);
  assert.deepEqual([...seen].sort(), ['keelson', 'kubelet', 'kubelet-server', 'scheduler']);
});

test('a line that is no entry is shown unchanged, where no component is selected', () => {
  for (const text of ['plain', '{"level":"info"}', '{broken'])
    assert.deepEqual(
      [undefined, 'kubelet'].map((component) => logLineText(text, { component, asText: true }, new Set())),
      [text, undefined],
    );
});
