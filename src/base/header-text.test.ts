import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  headerNamePart,
  headerTextOf,
  headerValueOf,
  isHeaderName,
  isHeaderValue,
  sendableHeaderValue,
  percentDecoded,
} from './header-text.ts';

test('every control character but the tab is refused in a value, every character that is no token one in a name', () => {
  for (let code = 0; code < 256; code++) {
    const character = String.fromCharCode(code);
    const isControl = (code < 0x20 && code !== 0x09) || code === 0x7f;
    assert.equal(isHeaderValue(`a${character}b`), !isControl, `value with ${code}`);
    assert.equal(isHeaderName(`a${character}b`), /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(character), `name with ${code}`);
    assert.ok(isHeaderValue(sendableHeaderValue(`a${character}b`)));
  }
  assert.equal(isHeaderName(''), false);
});

test('text travels as its UTF-8 bytes, and values that are not UTF-8 are no text', () => {
  for (const text of ['ann', 'jürgen', 'Ω € 名前', '😀', '']) {
    assert.equal(headerTextOf(headerValueOf(text)), text);
    assert.deepEqual(Buffer.from(headerValueOf(text), 'latin1'), Buffer.from(text, 'utf8'));
  }
  assert.equal(headerTextOf('j\u00fcrgen'), undefined);
});

test('keys in header names are escaped byte by byte as upstream does, and can be unescaped', () => {
  assert.equal(headerNamePart('acme.com/Project(1) 100%'), 'acme.com%2FProject%281%29%20100%25');
  assert.equal(headerNamePart('a\r\nb: ü'), 'a%0D%0Ab%3A%20%C3%BC');
  for (const key of ['acme.com/a', 'a\r\nb', 'ü', '%', "!#$&'*+-.^_`|~"]) {
    assert.ok(isHeaderName(headerNamePart(key)));
    assert.equal(percentDecoded(headerNamePart(key)), key);
  }
  assert.equal(percentDecoded('%zz'), '%zz');
});
