import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateWebhookClient } from './webhook-client.ts';

const cases: readonly [path: string, ...problems: readonly string[]][] = [
  [''],
  ['/'],
  ['/always-deny'],
  ['/a/b/'],
  ['//', 'segment[0] may not be empty'],
  ['hook', "must start with a '/'"],
  ['h', "must start with a '/'", 'segment[0] may not be empty'],
  ['a/b//c', "must start with a '/'", 'segment[0] may not be empty', 'segment[2] may not be empty'],
  ['/a//b', 'segment[1] may not be empty'],
];

for (const [path, ...problems] of cases)
  test(`a webhook's service path ${JSON.stringify(path)}: ${problems.join() || 'valid'}`, () => {
    const field = Field.root();
    validateWebhookClient({ service: { name: 'hook', namespace: 'default', path } }, field.at('clientConfig'));
    assert.deepEqual(
      field.errors.map((error) => [error.field, error.text]),
      problems.map((problem) => ['clientConfig.service.path', `Invalid value: ${JSON.stringify(path)}: ${problem}`]),
    );
  });

const FORM = 'desired format: https://host[/path]';
const urls: readonly [url: string, ...problems: readonly string[]][] = [
  ['https://hook.example.com:8443/path'],
  ['https://', `Invalid value: "": host must be specified; ${FORM}`],
  ['https:///path', `Invalid value: "": host must be specified; ${FORM}`],
  [
    'hook',
    `Invalid value: "": 'https' is the only allowed URL scheme; ${FORM}`,
    `Invalid value: "": host must be specified; ${FORM}`,
  ],
  ['HTTPS://[::1]:443'],
  ['http://h', `Invalid value: "http": 'https' is the only allowed URL scheme; ${FORM}`],
  ['https://u:p@h', 'Invalid value: "u:p": user information is not permitted in the URL'],
  ['https://h/#f', 'Invalid value: "f": fragments are not permitted in the URL'],
  ['https://h?a=b', 'Invalid value: "a=b": query parameters are not permitted in the URL'],
  ['://h', `Required value: url must be a valid URL: parse "://h": missing protocol scheme; ${FORM}`],
  [
    'https://h:x',
    `Required value: url must be a valid URL: parse "https://h:x": invalid port ":x" after host; ${FORM}`,
  ],
  ['https://h:99999/%41b'],
  ['https://ü.example/%C3%BC'],
  ['https://[fe80::1%25en0]:443/'],
  ['https://a]/'],
];

/** URLs that Go's url.Parse refuses. */
const unparsed: readonly [url: string, why: string][] = [
  ['https://a b/', 'invalid character " " in host name'],
  ['https://a\\b/', 'invalid character "\\\\" in host name'],
  ['https://a^b/', 'invalid character "^" in host name'],
  ['https://%zz/', 'invalid URL escape "%zz"'],
  ['https://a%2', 'invalid URL escape "%2"'],
  ['https://a%41/', 'invalid URL escape "%41"'],
  ['https://h/%zz', 'invalid URL escape "%zz"'],
  ['https://h/a%', 'invalid URL escape "%"'],
  ['https://h/#%zz', 'invalid URL escape "%zz"'],
  ['https://[::1/', "missing ']' in host"],
  ['https://[::1]x/', 'invalid port "x" after host'],
  ['https://[hook]/', 'invalid host: ParseAddr("hook"): unable to parse IP'],
  ['https://[1.2.3.4]/', 'invalid IP-literal'],
  ['https://a[::1]/', 'invalid IP-literal'],
  ['https://::1/', 'invalid port "::1" after host'],
  ['https://u^@h/', 'net/url: invalid userinfo'],
  ['1h:80/hook', 'first path segment in URL cannot contain colon'],
];
const refused = unparsed.map(([url, why]): [string, string] => {
  return [url, `Required value: url must be a valid URL: parse ${JSON.stringify(url)}: ${why}; ${FORM}`];
});
for (const [url, ...problems] of [...urls, ...refused])
  test(`a webhook's URL ${url}: ${problems.join() || 'valid'}`, () => {
    const field = Field.root();
    validateWebhookClient({ url }, field.at('clientConfig'));
    assert.deepEqual(
      field.errors.map((error) => [error.field, error.text]),
      problems.map((problem) => ['clientConfig.url', problem]),
    );
  });

test("a webhook's service must have a name, a namespace and a valid port", () => {
  const field = Field.root();
  validateWebhookClient({ service: { name: '', namespace: '', port: 0 } }, field.at('clientConfig'));
  const place = 'clientConfig.service';
  assert.deepEqual(
    field.errors.map((error) => [error.field, error.text]),
    [
      [`${place}.name`, 'Required value'],
      [`${place}.namespace`, 'Required value'],
      [`${place}.port`, 'Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive'],
    ],
  );
});
