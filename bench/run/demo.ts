// The demo of `npm run up`, reached by name: the cluster's own DNS, queried through its Service, resolves the address.
import { Resolver } from 'node:dns/promises';

import { dnsAddress } from '../../src/cluster/network/pod-network.ts';
import { clusterStatus } from '../../tools/up/cluster.ts';
import { demoObjects, deploy, fetchText, provideImage } from '../../tools/up/demo.ts';
import { collectionPath, type KubeClient } from '../../tools/up/kube-client.ts';
import { until } from './wait.ts';

const NAME = 'demo.default.svc.cluster.local';

/** The milliseconds from importing the image and applying the objects until the Service responds by name. */
export async function demoByNameMs(client: KubeClient, dataDir: string): Promise<number> {
  const startedMs = performance.now();
  await provideImage((await clusterStatus(dataDir)).containerdSocket);
  await deploy(client);
  await until(await answersByName(client), { what: `an answer of ${NAME}`, timeoutMs: 60_000, everyMs: 20 });
  return performance.now() - startedMs;
}

/** A check whether the demo's Service answers by its name. */
export async function answersByName(client: KubeClient): Promise<() => Promise<boolean>> {
  const dns = new Resolver({ timeout: 500, tries: 1 });
  dns.setServers([await dnsOf(client)]);
  const answers = async (): Promise<boolean> => {
    const [address] = await dns.resolve4(NAME);
    return (await fetchText(`http://${address}/`)) !== undefined;
  };
  return () => answers().catch(() => false);
}

/** Deletes the objects and waits for the end of the pods, so that the next measurement has the node to itself. */
export async function removeDemo(client: KubeClient): Promise<void> {
  for (const object of demoObjects())
    await client.send(`${collectionPath(object)}/${object.metadata.name}`, { method: 'DELETE' });
  const gone = async (): Promise<boolean> => {
    const { body } = await client.send('/api/v1/namespaces/default/pods?labelSelector=app%3Ddemo');
    return (body as { items: readonly unknown[] }).items.length === 0;
  };
  await until(gone, { what: "the end of the demo's pods", timeoutMs: 60_000, everyMs: 100 });
}

async function dnsOf(client: KubeClient): Promise<string> {
  const { body } = await client.send('/apis/networking.k8s.io/v1/servicecidrs/kubernetes');
  return dnsAddress((body as { spec: { cidrs: readonly string[] } }).spec.cidrs.join(','));
}
