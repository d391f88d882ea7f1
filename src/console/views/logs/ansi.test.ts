import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PLAIN_PEN, styledText } from './ansi.ts';

const ESC = '\u001b';
/** The text with its classes: `[logs-ink-1 red]`. */
const drawn = (raw: string): string => {
  const { text, spans } = styledText(raw);
  let at = 0;
  let result = '';
  for (const { start, end, classes } of spans) {
    result += `${text.slice(at, start)}[${classes} ${text.slice(start, end)}]`;
    at = end;
  }
  return result + text.slice(at);
};

test('colours and attributes become classes', () => {
  for (const [raw, expected] of [
    ['plain', 'plain'],
    [`a ${ESC}[31mred${ESC}[0m b`, 'a [logs-ink-1 red] b'],
    [`${ESC}[1;92mx${ESC}[22my`, '[logs-ink-10 logs-bold x][logs-ink-10 y]'],
    [`${ESC}[41;37mx${ESC}[49my`, '[logs-on-1 x][logs-ink-7 y]'],
    [`${ESC}[7mx${ESC}[27my`, '[logs-on-7 x]y'],
    [`${ESC}[38;5;196mx${ESC}[m`, '[logs-ink-9 x]'],
    [`${ESC}[38;2;0;0;120;4mx`, '[logs-ink-4 logs-underlined x]'],
    [`${ESC}[38:5:2mx`, '[logs-ink-2 x]'],
    [`${ESC}[999mx${ESC}[38mx`, 'xx'],
  ] as const)
    assert.equal(drawn(raw), expected, JSON.stringify(raw));
});

test('a line starts with the attributes at the end of the line before it', () => {
  const { pen } = styledText(`${ESC}[31mred`);
  assert.deepEqual(styledText('still', pen).spans, [{ start: 0, end: 5, classes: 'logs-ink-1' }]);
  assert.equal(styledText(`${ESC}[0m`, pen).pen, PLAIN_PEN);
});

test('sequences for cursor, titles and links are removed; incomplete ones and invisible characters are shown', () => {
  for (const [raw, expected] of [
    [`${ESC}[2J${ESC}[1;1Hx`, 'x'],
    [`${ESC}]0;title\u0007x`, 'x'],
    [`${ESC}]8;;https://evil.example${ESC}\\link${ESC}]8;;${ESC}\\`, 'link'],
    [`${ESC}(B${ESC}cx`, 'x'],
    [`${ESC}]0;never ends`, '␛]0;never ends'],
    [`x${ESC}`, 'x␛'],
    ['a\u0000b\u0007\u007f\r', 'a␀b␇␡␍'],
    ['\u202egnp.exe', '<U+202E>gnp.exe'],
    ['\u0085\ufeff\u200b', '<U+0085><U+FEFF><U+200B>'],
    ['a\tb\u0000\tc', 'a       b␀      c'],
  ] as const)
    assert.equal(drawn(raw), expected, JSON.stringify(raw));
});

test('no line leaves a control character, and its spans are in order', () => {
  const hostile = fc.array(fc.constantFrom(ESC, '[', ']', 'm', ';', '3', '8', '5', '\u0007', '\\', 'P', '<b>', '\t'));
  fc.assert(
    fc.property(hostile, (parts) => {
      const { text, spans } = styledText(parts.join(''));
      assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f]/);
      let at = 0;
      for (const { start, end } of spans) {
        assert.ok(start >= at && end > start && end <= text.length);
        at = end;
      }
    }),
  );
});
