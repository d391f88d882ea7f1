import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PagePlace, seenAddress, seenPage } from './proxied-page.ts';

const place: PagePlace = { origin: 'https://api:6443', prefix: '/p/proxy', source: 'http://10.0.0.2:8080/dir/page' };

const addresses: readonly [given: string, seen: string][] = [
  ['/', '/p/proxy/'],
  ['/a/b?c=d#e', '/p/proxy/a/b?c=d#e'],
  ['/p/proxy/a', '/p/proxy/a'],
  ['a/b', 'a/b'],
  ['#top', '#top'],
  ['?q', '?q'],
  ['', ''],
  ['http://10.0.0.2:8080/x', 'https://api:6443/p/proxy/x'],
  ['//10.0.0.2:8080/x', 'https://api:6443/p/proxy/x'],
  ['https://api:6443/p/proxy/x', 'https://api:6443/p/proxy/x'],
  ['http://10.0.0.2/x', 'http://10.0.0.2/x'],
  ['https://other.example/x', 'https://other.example/x'],
  ['//cdn.example/x', '//cdn.example/x'],
  ['mailto:a@b', 'mailto:a@b'],
  ['data:image/png;base64,/9j/', 'data:image/png;base64,/9j/'],
];
for (const [given, seen] of addresses)
  test(`${given} is rewritten to ${seen}`, () => assert.equal(seenAddress(given, place), seen));

test('a strange name for the server is as good as any', () => {
  for (const host of ['', 'a b', '[', 'api:99999', 'API:443', 'x@y', '%zz']) {
    const strange = { ...place, origin: `https://${host}` };
    assert.equal(seenAddress('/x', strange), '/p/proxy/x');
    assert.equal(seenAddress('http://other.example/x', strange), 'http://other.example/x');
    assert.equal(seenAddress('http://10.0.0.2:8080/x', strange), `https://${host}/p/proxy/x`);
  }
  const capital = { ...place, origin: 'https://API:443' };
  assert.equal(seenAddress('https://API:443/x', capital), 'https://API:443/p/proxy/x');
});

async function pageOf(...chunks: string[]): Promise<string> {
  async function* all(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1');
  }
  let text = '';
  for await (const chunk of seenPage(all(), place)) text += Buffer.from(chunk).toString('latin1');
  return text;
}

test('links in the elements that have links, with every quoting; the rest is unchanged', async () => {
  assert.equal(
    await pageOf(
      '<A HREF=/x id="/y">/z</A><script src=\'/s.js\'></script><p title="/t">a < b \xff</p><img src="/i" usemap="#m">',
    ),
    '<A HREF=/p/proxy/x id="/y">/z</A><script src=\'/p/proxy/s.js\'></script><p title="/t">a < b \xff</p><img src="/p/proxy/i" usemap="#m">',
  );
  assert.equal(await pageOf('<form action="/f" data-action="/g">'), '<form action="/p/proxy/f" data-action="/g">');
});

test('a tag that is split between chunks; one that never ends', async () => {
  assert.equal(await pageOf('<p><a hr', 'ef="/x', '">x</a>', ''), '<p><a href="/p/proxy/x">x</a>');
  assert.equal(await pageOf('<a href="/x"'), '<a href="/x"');
  const endless = `<a href="${'x'.repeat(200_000)}`;
  assert.equal(await pageOf(endless, 'y'), `${endless}y`);
});
