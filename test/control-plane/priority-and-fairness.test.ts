/** Priority and fairness over real HTTPS: a flood is refused, others are served; with kubectl and raw requests. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

let fixture: ControlPlaneFixture;
let folder: string;
let agent: Agent;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keelson-fairness-'));
  const tokens = ['flood', 'polite', 'outsider', 'guest'].map((name) => `${name}-token,${name},${name}\n`);
  await writeFile(join(folder, 'tokens.csv'), tokens.join(''));
  fixture = await startControlPlane({
    components: false,
    // A request may wait for a seat for a quarter of its timeout.
    flags: { 'token-auth-file': join(folder, 'tokens.csv'), 'request-timeout': '20m' },
  });
  agent = new Agent({ ca: fixture.tls.ca, maxSockets: Infinity });
});

after(async () => {
  agent.destroy();
  await fixture.stop();
  await rm(folder, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request whose body is not yet sent. */
interface Begun {
  readonly answer: Promise<Answer>;
  readonly request: ClientRequest;
}

function begin(user: string, method: string, path: string): Begun {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { authorization: `Bearer ${user}-token`, 'content-type': 'application/json' };
  const sent = request({ host: '127.0.0.1', port: fixture.port, method, path, headers, agent }, (incoming) =>
    readAll(incoming).then(
      (text) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }),
      reject,
    ),
  );
  sent.on('error', reject);
  sent.flushHeaders();
  return { answer: promise, request: sent };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function send(user: string, method: string, path: string, body?: object): Promise<Answer> {
  const begun = begin(user, method, path);
  begun.request.end(body === undefined ? undefined : JSON.stringify(body));
  return begun.answer;
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const map = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

async function apply(...objects: readonly object[]): Promise<void> {
  const text = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const { code, stderr } = await fixture.kubectl(['apply', '-f', '-'], text);
  assert.equal(code, 0, stderr);
}

/** Three seats, two queues of two places for each user. */
function restricted(): object[] {
  const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
  const queuing = { queues: 32, handSize: 2, queueLengthLimit: 2 };
  return [
    {
      apiVersion,
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'restricted' },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 1,
          borrowingLimitPercent: 0,
          limitResponse: { type: 'Queue', queuing },
        },
      },
    },
    {
      apiVersion,
      kind: 'FlowSchema',
      metadata: { name: 'restricted' },
      spec: {
        priorityLevelConfiguration: { name: 'restricted' },
        matchingPrecedence: 500,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: ['flood', 'polite'].map((name) => ({ kind: 'User', user: { name } })),
            resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
          },
        ],
      },
    },
  ];
}

async function dumped(what: string): Promise<string[]> {
  const { stdout, stderr } = await fixture.kubectl(['get', '--raw', `/debug/api_priority_and_fairness/${what}`]);
  assert.equal(stderr, '');
  return stdout.split('\n');
}

test('a flood is refused with 429 and Retry-After; others are served', async () => {
  const users = ['flood', 'polite', 'outsider'].map((name) => `--user=${name}`);
  assert.equal(
    (await fixture.kubectl(['create', 'clusterrolebinding', 'u', '--clusterrole=cluster-admin', ...users])).code,
    0,
  );
  await apply(...restricted());

  // Admitted requests hold their seats while the server reads the rest of the body.
  const flood = Array.from({ length: 12 }, () => begin('flood', 'POST', MAPS));
  const refused = new Set<Answer>();
  for (const { answer } of flood) void answer.then((one) => one.status === 429 && refused.add(one));
  await until('five of twelve are refused', () => Promise.resolve(refused.size === 5));
  for (const { headers, text } of refused) {
    assert.equal(headers['retry-after'], '1');
    assert.equal((JSON.parse(text) as { reason: string }).reason, 'TooManyRequests');
  }
  const level = (await dumped('dump_priority_levels')).find((line) => line.startsWith('restricted,'));
  assert.match(level ?? '', /^restricted, +2, +false, +false, +4, +3, +3, +5, +0, +0$/);
  const waiting = (await dumped('dump_requests?includeRequestDetails=1')).filter((line) => line.includes('restricted'));
  assert.equal(waiting.length, 4);
  assert.match(waiting[0]!, / flood, +create, +\/api\/v1\/namespaces\/default\/configmaps, +default, /);

  // A user of another level is served at once; one of the same level in its turn, before the flood's queued requests.
  const outsider = await send('outsider', 'POST', MAPS, map('outsider'));
  assert.equal(outsider.status, 201, outsider.text);
  const polite = send('polite', 'POST', MAPS, map('polite'));
  await until(
    'five wait',
    async () => (await dumped('dump_requests')).filter((l) => l.includes('restricted')).length === 5,
  );
  for (const [index, { request: sent }] of flood.entries()) sent.end(JSON.stringify(map(`flood-${index}`)));
  const answers = await Promise.all(flood.map(({ answer }) => answer));
  assert.equal((await polite).status, 201);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array(7).fill(201), ...Array(5).fill(429)]);
  // The server's own order, not that of the responses.
  const revisionOf = ({ text }: Answer): number =>
    Number((JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
  const created = answers.filter(({ status }) => status === 201).map(revisionOf);
  assert.ok(revisionOf(await polite) < Math.max(...created), `${revisionOf(await polite)} after ${created.join(' ')}`);

  const labels = 'flow_schema="restricted",priority_level="restricted"';
  const lines = [
    `apiserver_flowcontrol_rejected_requests_total{${labels},reason="queue-full"} 5`,
    `apiserver_flowcontrol_dispatched_requests_total{${labels}} 8`,
    `apiserver_flowcontrol_current_inqueue_requests{${labels}} 0`,
    `apiserver_flowcontrol_current_executing_requests{${labels}} 0`,
    'apiserver_flowcontrol_nominal_limit_seats{priority_level="restricted"} 3',
  ];
  await until('the metrics', async () => {
    const { stdout } = await fixture.kubectl(['get', '--raw', '/metrics']);
    for (const line of lines) assert.ok(stdout.includes(`${line}\n`), line);
    return true;
  });
});

test('responses name their flow schema and priority level', async () => {
  const uid = async (kind: string, name: string): Promise<string> =>
    (await fixture.kubectl(['get', kind, name, '-o', 'jsonpath={.metadata.uid}'])).stdout;
  const named = async (user: string, path: string): Promise<unknown[]> => {
    const { status, headers } = await send(user, 'GET', path);
    return [status, headers['x-kubernetes-pf-flowschema-uid'], headers['x-kubernetes-pf-prioritylevel-uid']];
  };
  const schema = await uid('flowschema', 'global-default');
  const level = await uid('prioritylevelconfiguration', 'global-default');
  assert.deepEqual(await named('outsider', MAPS), [200, schema, level]);
  assert.deepEqual(await named('guest', MAPS), [403, schema, level]);
  assert.deepEqual(await named('nobody', MAPS), [401, undefined, undefined]);
});

test('kubectl shows flow schemas and priority levels, including dangling ones; mandatory ones are recreated', async () => {
  const lost = { ...(restricted()[1] as { spec: object }), metadata: { name: 'lost' } };
  lost.spec = { ...lost.spec, priorityLevelConfiguration: { name: 'missing' } };
  await apply(lost);
  const shown = async (): Promise<string[]> => (await fixture.kubectl(['get', 'flowschemas'])).stdout.split('\n');
  await until('conditions are written', async () => (await shown()).every((line) => !line.endsWith('?')));
  const lines = await shown();
  assert.match(lines[0]!, /^NAME +PRIORITYLEVEL +MATCHINGPRECEDENCE +DISTINGUISHERMETHOD +AGE +MISSINGPL$/);
  const line = (name: string): string => lines.find((one) => one.startsWith(`${name} `)) ?? '';
  assert.match(line('exempt'), /^exempt +exempt +1 +<none> +\S+ +False$/);
  assert.match(line('catch-all'), /^catch-all +catch-all +10000 +ByUser +\S+ +False$/);
  assert.match(line('lost'), /^lost +missing +500 +ByUser +\S+ +True$/);
  const levels = (await fixture.kubectl(['get', 'prioritylevelconfigurations'])).stdout;
  assert.match(levels, /^NAME +TYPE +NOMINALCONCURRENCYSHARES +QUEUES +HANDSIZE +QUEUELENGTHLIMIT +AGE$/m);
  assert.match(levels, /^system +Limited +30 +64 +6 +50 +\S+$/m);
});
