// `npm run up`: from a checkout to a cluster that serves a demo. Builds, starts the cluster in the background, imports the demo's
// image, deploys it and waits until its Service responds. Steps that are done already are skipped. Arguments are those of
// `keelson up`, for example: npm run up -- --data-dir /srv/keelson --https-port 7443
import { build, buildTypes } from './build.ts';
import { isMain, repositoryRoot } from './repository.ts';
import { clusterStatus, connectIfReady, dataDirectory, kubeconfigPath, startCluster } from './up/cluster.ts';
import { demoAnswer, deploy, provideImage } from './up/demo.ts';
import type { KubeClient } from './up/kube-client.ts';
import { closingText, phaseTable, readSetup, type Phase } from './up/summary.ts';
import { waitFor } from './up/wait.ts';

async function main(args: readonly string[]): Promise<void> {
  const dataDir = dataDirectory(args);
  const setup = readSetup(process.env['KEELSON_SETUP']);
  const phases: Phase[] = [];
  const phase = async (name: string, work: () => Promise<string>): Promise<void> => {
    const startedMs = performance.now();
    const result = await work();
    const durationMs = performance.now() - startedMs;
    phases.push({ name, result, durationMs });
    if (result !== '') console.error(`✓ ${name}: ${result} (${(durationMs / 1000).toFixed(1)} s)`);
  };

  await phase('build', () => build(repositoryRoot));
  const running = await connectIfReady(dataDir);
  let client = running;
  await phase('cluster', async () => {
    if (running !== undefined) return '';
    await startCluster(args);
    client = await waitFor(() => connectIfReady(dataDir), { what: 'the API server to be ready', timeoutMs: 10_000 });
    return 'started';
  });
  if (client === undefined) throw new Error('the cluster did not start');
  try {
    const place = await runDemo(client, { dataDir, phase });
    console.log(
      `\n${phaseTable(setup, phases)}\n\n${closingText({ ...place, dataDir, kubeconfig: kubeconfigPath(dataDir) })}`,
    );
    buildTypes(repositoryRoot);
  } finally {
    client.close();
  }
}

interface DemoOptions {
  readonly dataDir: string;
  readonly phase: (name: string, work: () => Promise<string>) => Promise<void>;
}

async function runDemo(client: KubeClient, { dataDir, phase }: DemoOptions) {
  await phase('node ready', async () => {
    await waitFor(() => readyNode(client), { what: 'a node to be Ready', timeoutMs: 60_000 });
    return '';
  });
  await phase('demo image', async () => provideImage((await clusterStatus(dataDir)).containerdSocket));
  await phase('demo deployed', () => deploy(client));
  let answer = { url: '', text: '' };
  await phase('demo answers', async () => {
    answer = await demoAnswer(client);
    return answer.url;
  });
  return { server: client.server, demoUrl: answer.url, demoText: answer.text };
}

interface NodeList {
  readonly items?: readonly { status?: { conditions?: readonly { type: string; status: string }[] } }[];
}

async function readyNode(client: KubeClient): Promise<true | undefined> {
  const { body } = await client.send('/api/v1/nodes');
  const nodes = (body as NodeList).items ?? [];
  const ready = nodes.some(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  return ready ? true : undefined;
}

if (isMain(import.meta.url)) {
  await main(process.argv.slice(2)).catch((error: Error) => {
    console.error(`keelson: ${error.message}`);
    process.exitCode = 1;
  });
}
