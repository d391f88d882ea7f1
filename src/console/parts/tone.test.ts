import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toneOf, toneOfShare } from './tone.ts';

test('status words of the server have a tone, sentences have none', () => {
  const tones = {
    Running: 'good',
    'Init:0/2': 'busy',
    'Init:CrashLoopBackOff': 'bad',
    'NotReady,SchedulingDisabled': 'busy',
    ProvisioningFailed: 'bad',
    ErrImageNeverPull: 'plain',
    'Error: ImagePullBackOff': 'plain',
    'Back-off pulling image "x": ErrImagePull': 'plain',
  };
  for (const [word, tone] of Object.entries(tones)) assert.equal(toneOf(word), tone, word);
  assert.deepEqual(['1/2', '2/2', '80/TCP'].map(toneOfShare), ['busy', 'plain', 'plain']);
});
