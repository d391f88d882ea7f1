import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { certificateRows, isBroken } from './certificate-table.ts';

const NOW = parseTime('2026-06-01T00:00:00Z');
const DAY_MS = 86_400_000;
const file = (name: string, startDays: number, endDays: number) => ({
  path: `/d/pki/${name}`,
  isAuthority: name.endsWith('ca.crt'),
  renewsItself: name.endsWith('-current.pem'),
  subject: name,
  times: { notBeforeMs: NOW + startDays * DAY_MS, notAfterMs: NOW + endDays * DAY_MS },
});

test('a row has the expiry of a certificate and whether that is soon; authorities come first and expire sooner', () => {
  const unreadable = { path: '/d/pki/x.crt', isAuthority: false, renewsItself: false, error: 'no PEM' };
  const files = [
    file('a.crt', -1, 31),
    file('b.crt', -1, 29),
    file('c.crt', -9, -1),
    file('d.crt', 1, 9),
    file('dns-client-current.pem', -1, 5),
    file('etcd/ca.crt', -1, 300),
    unreadable,
  ];
  const rows = certificateRows(files, '/d/pki', NOW);
  assert.deepEqual(
    rows.map(({ file: name, status, residualDays }) => [name, status, residualDays]),
    [
      ['etcd/ca.crt', 'WARNING', 300],
      ['a.crt', 'OK', 31],
      ['b.crt', 'WARNING', 29],
      ['c.crt', 'EXPIRED', -1],
      ['d.crt', 'NOT YET VALID', 9],
      ['dns-client-current.pem', 'OK', 5],
      ['x.crt', 'UNREADABLE', undefined],
    ],
  );
  assert.equal(rows.filter(isBroken).length, 3);
});
