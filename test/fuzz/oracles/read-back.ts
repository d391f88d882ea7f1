// Everything stored can be read: each resource is listed as JSON, protobuf and table.
import { decodeProtobuf } from '../../../src/api/codec/protobuf.ts';
import type { OwnClient } from '../targets/own-client.ts';
import type { Problem } from './answers.ts';

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

interface ApiResource {
  readonly name: string;
  readonly verbs: readonly string[];
}

/** The paths of all resources that can be listed, from discovery. */
async function listPaths(client: OwnClient): Promise<string[]> {
  const { body: apis } = await client.send('GET', '/apis');
  const groups = apis['groups'] as readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  const roots = [
    '/api/v1',
    ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`)),
  ];
  const paths: string[] = [];
  for (const root of roots.filter((one) => !one.includes('peer.fuzz.io'))) {
    const { body } = await client.send('GET', root);
    const found = (body['resources'] ?? []) as readonly ApiResource[];
    paths.push(
      ...found
        .filter(({ verbs, name }) => verbs.includes('list') && !name.includes('/'))
        .map(({ name }) => `${root}/${name}`),
    );
  }
  return paths;
}

function itemsOfProtobuf(bytes: Buffer): number {
  const list = decodeProtobuf(bytes) as { readonly items?: readonly unknown[] };
  return list.items?.length ?? 0;
}

/** Resources that cannot be read; `objects` is the number of objects. */
export async function readBack(client: OwnClient): Promise<{ problems: Problem[]; objects: number }> {
  const problems: Problem[] = [];
  let objects = 0;
  for (const path of await listPaths(client)) {
    for (const accept of ['application/json', `${PROTOBUF},application/json`, TABLE]) {
      const fail = (detail: string): void =>
        void problems.push({ signature: `read back ${path} as ${accept}`, detail: detail.slice(0, 600) });
      try {
        const { status, body, answer } = await client.send('GET', path, undefined, [['Accept', accept]]);
        if (status !== 200) fail(`${status} ${JSON.stringify(body)}`);
        else if (accept === 'application/json') objects += (body['items'] as readonly unknown[]).length;
        else if (answer.headers?.['content-type'] === PROTOBUF) itemsOfProtobuf(answer.body!);
      } catch (error) {
        fail(String(error));
      }
    }
  }
  return { problems, objects };
}
