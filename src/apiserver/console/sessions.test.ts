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
  for (let index = 0; index < 1100; index++) {
    sessions.open(user(`user-${index}`));
    sessions.issueCode(user(`user-${index % 10}`));
    sessions.issueCode(user(`guest-${index}`));
  }
  assert.deepEqual(sessions.size, { sessions: 1000, codes: 1000 });
});

test("the right to create service accounts does not end other users' sessions and codes", () => {
  const { sessions, user } = make();
  const { id } = sessions.open(user('admin'));
  const code = sessions.issueCode(user('admin'));
  for (let index = 0; index < 500; index++) {
    sessions.open(user(`system:serviceaccount:vic:a${index}`));
    sessions.issueCode(user(`system:serviceaccount:vic:a${index}`));
  }
  assert.deepEqual(sessions.size, { sessions: 17, codes: 9 });
  for (let index = 0; index < 70; index++)
    for (let count = 0; count < 16; count++) {
      sessions.open(user(`system:serviceaccount:ns${index}:a`));
      sessions.issueCode(user(`system:serviceaccount:ns${index}:a`));
    }
  assert.equal(sessions.size.sessions, 1000);
  assert.ok(sessions.find(id));
  assert.equal(sessions.redeemCode(code)?.user.name, 'admin');
});

test('a session ends, and a code opens none, when the authority of its certificate is trusted no longer', () => {
  const { sessions } = make();
  let isTrusted = true;
  const credential = { kind: 'user', user: { name: 'ann', groups: [] }, isTrusted: () => isTrusted } as const;
  const { id } = sessions.open(credential);
  const code = sessions.issueCode(credential);
  assert.ok(sessions.find(id));
  isTrusted = false;
  assert.equal(sessions.find(id), undefined);
  assert.equal(sessions.redeemCode(code), undefined);
  isTrusted = true;
  assert.equal(sessions.find(id), undefined, 'it has ended');
});
