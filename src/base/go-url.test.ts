import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapedGoPath } from './go-escapes.ts';
import { goQueryPairs, parseGoRequestUri, parseGoUrl, splitGoHost } from './go-url.ts';

/** The error of Go 1.26 for a request's URL after `parse "…": `; '' for accepted ones. */
const REQUESTS: Readonly<Record<string, string>> = {
  '': 'empty url',
  '*': '',
  'a/b': 'invalid URI for request',
  ':x': 'missing protocol scheme',
  '/a b': '',
  '//a/b': '',
  'mailto:a@b': '',
  '/%zz': 'invalid URL escape "%zz"',
  '/%é': 'invalid URL escape "%é"',
  '/%2é': 'invalid URL escape "%2\\xc3"',
  'http://a b': 'invalid character " " in host name',
  'http://a%41': 'invalid URL escape "%41"',
  'http://a%c3%a9': '',
  'http://a:x': 'invalid port ":x" after host',
  'http://a:1,b:2': 'invalid port ":1,b:2" after host',
  'tcp://a:1,b:2': '',
  'http://[::1]:80': '',
  'http://[fe80::1%25eth0]': '',
  'http://[::1': "missing ']' in host",
  'http://[a]': 'invalid host: ParseAddr("a"): unable to parse IP',
  'http://[1.2.3.4]': 'invalid IP-literal',
  'http://a[::1]': 'invalid IP-literal',
  'http://u^@a': 'net/url: invalid userinfo',
  'http://%:b@a': 'invalid URL escape "%"',
};

test('URLs of requests are accepted and refused as by Go', () => {
  for (const [text, why] of Object.entries(REQUESTS)) {
    const url = parseGoRequestUri(text);
    assert.equal(typeof url === 'string' ? url : '', why === '' ? '' : `parse ${JSON.stringify(text)}: ${why}`, text);
  }
  assert.equal(parseGoRequestUri('/a\n'), 'parse "/a\\n": net/url: invalid control character in URL');
});

test('parts of a reference', () => {
  assert.deepEqual(parseGoUrl('HTTPS://u:p@[fe80::1%25en]:8/a%2fb?x=1#f'), {
    scheme: 'https',
    user: 'u:p',
    host: '[fe80::1%en]:8',
    path: '/a%2fb',
    query: 'x=1',
    fragment: 'f',
  });
  assert.equal(parseGoUrl('a:b/c#%zz'), 'parse "a:b/c#%zz": invalid URL escape "%zz"');
  assert.equal(parseGoUrl('1a:b'), 'parse "1a:b": first path segment in URL cannot contain colon');
  assert.deepEqual(splitGoHost('[::1]:80'), ['::1', '80']);
  assert.deepEqual(splitGoHost('a:x'), ['a:x', '']);
});

test('paths are escaped where necessary, and invalid parts of queries are dropped', () => {
  assert.equal(escapedGoPath('/a b'), '/a%20b');
  assert.equal(escapedGoPath("/a%2fb!'()*[]"), "/a%2fb!'()*[]");
  assert.equal(escapedGoPath('/é%2f"'), '/%C3%A9/%22');
  assert.deepEqual(
    [...goQueryPairs('a=1&a=%20+&b;c=1&%zz=1&=&d')],
    [
      ['a', '1'],
      ['a', '  '],
      ['', ''],
      ['d', ''],
    ],
  );
});
