/**
 * `keelson controller-manager` with flags about node ranges and service-account tokens, with kubectl: exhausted ranges, and the
 * early releases' secret for every account, cleaned up both ways.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

describe('flags of keelson controller-manager', () => {
  let plane: ControlPlaneFixture;
  let manager: Running;

  before(async () => {
    plane = await startControlPlane({ components: false });
    const flags = [
      ...[`--kubeconfig=${plane.kubeconfig}`, '--use-service-account-credentials=true', '--secure-port=0'],
      '--leader-elect=false',
      '--controllers=node-ipam-controller,serviceaccount-controller,serviceaccount-token-controller',
      ...['--allocate-node-cidrs', '--cluster-cidr=10.9.0.0/24', '--node-cidr-mask-size=25'],
      ...['--automatic-token-secrets', `--root-ca-file=${plane.directory}/pki/ca.crt`],
      `--service-account-private-key-file=${plane.directory}/pki/sa.key`,
    ];
    manager = start(process.execPath, [keelsonProgram, 'controller-manager', ...flags]);
  });
  after(async () => {
    manager?.kill('SIGKILL');
    await plane?.stop();
  });

  async function must(args: readonly string[], input?: object): Promise<string> {
    const { code, stdout, stderr } = await plane.kubectl(args, input && JSON.stringify(input));
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  }
  const eventually = <T>(what: string, check: () => Promise<T | undefined | false | ''>): Promise<T> =>
    until(what, check).catch((error: Error) =>
      assert.fail(`${error.message}\n${manager.stdout()}${manager.stderr()}`),
    ) as Promise<T>;
  const cidrOf = (node: string): Promise<string> => must(['get', 'node', node, '-o', 'jsonpath={.spec.podCIDR}']);

  test('each node gets a range; a node without one gets an event, and the first range that is released', async () => {
    const make = (name: string): Promise<string> =>
      must(['create', '-f', '-'], { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    for (const name of ['n1', 'n2']) {
      await make(name);
      await eventually(`a range for ${name}`, async () => (await cidrOf(name)) !== '');
    }
    assert.deepEqual([await cidrOf('n1'), await cidrOf('n2')].toSorted(), ['10.9.0.0/25', '10.9.0.128/25']);
    await make('n3');
    const event = ['get', 'events', '--field-selector=involvedObject.name=n3,reason=CIDRNotAvailable', '-o'];
    const said = await eventually('word that none is left', () => must([...event, 'jsonpath={.items[0].message}']));
    assert.equal(said, 'Node n3 status is now: CIDRNotAvailable');
    assert.equal(await cidrOf('n3'), '');
    const freed = await cidrOf('n1');
    await must(['delete', 'node', 'n1']);
    assert.equal(await eventually('the range that was given back', () => cidrOf('n3')), freed);
  });

  test('every account has a secret with a valid token; both are deleted together, and a lost secret is recreated', async () => {
    await must(['create', 'serviceaccount', 'bot']);
    const secretOf = (): Promise<string> => must(['get', 'serviceaccount', 'bot', '-o', 'jsonpath={.secrets[*].name}']);
    const name = await eventually('a secret', secretOf);
    assert.match(name, /^bot-token-\w{5}$/);
    const field = async (secret: string, key: string): Promise<string> => {
      const text = await must(['get', 'secret', secret, '-o', `jsonpath={.data.${key}}`]);
      return Buffer.from(text, 'base64').toString('utf8');
    };
    const token = await eventually('a token', () => field(name, 'token'));
    assert.equal(await field(name, 'ca\\.crt'), await readFile(`${plane.directory}/pki/ca.crt`, 'utf8'));
    assert.equal(await field(name, 'namespace'), 'default');
    const stranger = [
      `--server=https://127.0.0.1:${plane.port}`,
      '--insecure-skip-tls-verify',
      '--kubeconfig=/dev/null',
    ];
    const whoami = [
      '--certificate-authority=',
      `--token=${token}`,
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    ];
    assert.equal(await must([...stranger, ...whoami]), 'system:serviceaccount:default:bot');

    await must(['delete', 'secret', name]);
    const next = await eventually('another secret alone', async () => {
      const names = await secretOf();
      return names !== '' && !names.includes(name) && names;
    });
    assert.match(next, /^bot-token-\w{5}$/);
    await eventually('its token', () => field(next, 'token'));
    // The result of a token's validation is cached for a while.
    const refused = async (): Promise<boolean> => (await plane.kubectl([...stranger, ...whoami])).code !== 0;
    await eventually('an end of the token whose secret is gone', refused);
    await must(['delete', 'serviceaccount', 'bot']);
    await must(['wait', '--for=delete', `secret/${next}`, '--timeout=120s']);
  });
});
