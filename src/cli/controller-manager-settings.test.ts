import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseControllerManagerSettings } from './controller-manager-settings.ts';
import { UserError } from './usage-error.ts';

const parse = (...controllerManagerArg: string[]) => parseControllerManagerSettings({ controllerManagerArg });

test('without --controller-manager-arg no setting changes', async () => {
  assert.deepEqual(await parseControllerManagerSettings({}), {});
});

test('flags change the settings that an instance leaves to its user', async () => {
  const { controllerManager } = await parse(
    'node-monitor-grace-period=20s',
    '--automatic-token-secrets',
    'controllers=*,-job-controller',
  );
  assert.equal(controllerManager?.nodeMonitorGracePeriodMs, 20_000);
  assert.equal(controllerManager?.automaticTokenSecrets, true);
  assert.ok(controllerManager?.names?.includes('deployment-controller'));
  assert.ok(!controllerManager?.names?.includes('job-controller'));
});

test('without --controllers all controllers run', async () => {
  assert.equal((await parse('node-monitor-period=4s')).controllerManager?.names, undefined);
});

const refused: readonly (readonly [string, RegExp])[] = [
  ['cluster-cidr=10.0.0.0/8', /^--controller-manager-arg: --cluster-cidr cannot be set here/],
  ['kubeconfig=/k', /--kubeconfig cannot be set here/],
  ['node-monitor-grace-period=soon', /--node-monitor-grace-period: soon is not a duration/],
  ['nope=1', /nope/],
];
for (const [text, message] of refused)
  test(`${text} is refused in one line`, async () => {
    await assert.rejects(parse(text), (error) => error instanceof UserError && message.test(error.message));
  });
