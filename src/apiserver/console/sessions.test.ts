import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { CODE_MS, SESSION_MS, type SessionCredential, Sessions } from './sessions.ts';

function make() {
  const clock = new VirtualClock();
  const sessions = new Sessions({ clock, random: createSeededRandom(1) });
  const user = (name: string, expiresAtMs?: number): SessionCredential => ({
    kind: 'user',
    user: { name, groups: [] },
    expiresAtMs,
  });
  return { clock, sessions, user };
}

test('a session lasts twelve hours, or as long as the certificate', async () => {
  const { clock, sessions, user } = make();
  const long = sessions.open(user('ann'));
  const short = sessions.open(user('bob', clock.nowMs() + 1000));
  await clock.advance(999);
  assert.ok(sessions.find(long.id) && sessions.find(short.id));
  await clock.advance(1);
  assert.equal(sessions.find(short.id), undefined);
  await clock.advance(SESSION_MS - 1001);
  assert.ok(sessions.find(long.id));
  await clock.advance(1);
  assert.equal(sessions.find(long.id), undefined);
  assert.equal(sessions.size.sessions, 0);
});

test('a code opens one session within a minute', async () => {
  const { clock, sessions, user } = make();
  const code = sessions.issueCode(user('ann'));
  assert.equal(sessions.redeemCode(code)?.user.name, 'ann');
  assert.equal(sessions.redeemCode(code), undefined, 'used');
  const late = sessions.issueCode(user('ann'));
  await clock.advance(CODE_MS);
  assert.equal(sessions.redeemCode(late), undefined, 'too late');
  assert.equal(sessions.redeemCode('unknown'), undefined);
});

test('sessions and codes are bounded per user and in all, the longest unused go', () => {
  const { sessions, user } = make();
  const ids = Array.from({ length: 16 }, () => sessions.open(user('ann')).id);
  assert.ok(sessions.find(ids[0]!), 'used again');
  sessions.open(user('ann'));
  assert.ok(sessions.find(ids[0]!));
  assert.equal(sessions.find(ids[1]!), undefined);
  for (let index = 0; index < 5000; index++) {
    sessions.open(user(`user-${index}`));
    sessions.issueCode(user(`user-${index % 10}`));
    sessions.issueCode(user(`guest-${index}`));
  }
  assert.deepEqual(sessions.size, { sessions: 1000, codes: 1000 });
  assert.equal(sessions.find(ids[0]!), undefined);
});
