import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressProblem, prefixProblem } from './go-address.ts';
import { parseIp } from './cidr.ts';

/** The error of Go 1.26 after `ParseAddr("…"): `. */
const ADDRESSES: Readonly<Record<string, string>> = {
  '': 'unable to parse IP',
  name: 'unable to parse IP',
  '%eth0': 'missing IPv6 address',
  '1.2.3': 'IPv4 address too short',
  '1.2.3.4.5': 'IPv4 address too long',
  '1.2.03.4': 'IPv4 field has octet with leading zero',
  '1.2.256.4': 'IPv4 field has value >255',
  '1..3.4': 'IPv4 field must have at least one digit (at ".3.4")',
  '.1.2.3': 'IPv4 field must have at least one digit (at ".1.2.3")',
  '1.2.3.': 'IPv4 field must have at least one digit (at ".")',
  '1.2.x.4': 'unexpected character (at "x.4")',
  '::1%': 'zone must be a non-empty string',
  '1:2:3': 'address string too short',
  '12345::': 'each group must have 4 or less digits (at "12345::")',
  '1:::2': 'each colon-separated field must have at least one digit (at ":2")',
  '1::2::3': 'multiple :: in address (at ":3")',
  '1:2:': 'colon must be followed by more characters (at ":")',
  '1:g': 'each colon-separated field must have at least one digit (at "g")',
  '1:2g': 'unexpected character, want colon (at "g")',
  '1:2:3:4:5:6:7:8:9': 'trailing garbage after address (at "9")',
  '1:2:3:4:5:6:7::8': 'the :: must expand to at least one field of zeros',
  '1:2.3.4.5': 'embedded IPv4 address must replace the final 2 fields of the address (at "2.3.4.5")',
  '1:2:3:4:5:6:7::1.2.3.4': 'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
};

test('texts that are no addresses are refused in words of Go', () => {
  for (const [text, why] of Object.entries(ADDRESSES)) {
    assert.equal(addressProblem(text), `ParseAddr(${JSON.stringify(text)}): ${why}`);
    assert.equal(parseIp(text), undefined, text);
  }
  for (const text of ['1.2.3.4', '::', '::1', '1::', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8', 'FE80::1'])
    assert.equal(addressProblem(text), undefined, text);
  assert.equal(addressProblem('fe80::1%eth0'), undefined, 'a zone belongs to an address');
});

/** The error of Go 1.26 after `netip.ParsePrefix("…"): `. */
const PREFIXES: Readonly<Record<string, string>> = {
  '10.0.0.0': "no '/'",
  'x/8': 'ParseAddr("x"): unable to parse IP',
  '::1%a/8': 'IPv6 zones cannot be present in a prefix',
  '10.0.0.0/': 'bad bits after slash: ""',
  '10.0.0.0/08': 'bad bits after slash: "08"',
  '10.0.0.0/+8': 'bad bits after slash: "+8"',
  '10.0.0.0/x': 'bad bits after slash: "x"',
  '10.0.0.0/33': 'prefix length out of range',
  '::/129': 'prefix length out of range',
};

test('texts that are no ranges are refused in words of Go', () => {
  for (const [text, why] of Object.entries(PREFIXES))
    assert.equal(prefixProblem(text), `netip.ParsePrefix(${JSON.stringify(text)}): ${why}`);
  for (const text of ['10.0.0.0/0', '10.0.0.1/32', '::/128']) assert.equal(prefixProblem(text), undefined, text);
});
