/** A server with every built-in resource, for tests of this folder and those below. */
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { AdmissionPlugin } from './admission/contract.ts';
import { ServiceAllocator } from './registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from './registry/list.ts';
import { createServerStorage } from './server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from './server-fixture.ts';

/** Starts it; `admission`: plugins, none by default; `runtimeConfig`: versions beside those served by default. */
export async function startWithAll(
  admission: readonly AdmissionPlugin[] = [],
  runtimeConfig = '',
): Promise<TestServer> {
  const platform = testPlatform();
  const storage = createServerStorage({ store: createMemoryStore({ clock: platform.clock }), platform });
  const { objects } = storage;
  const serviceAllocator = new ServiceAllocator(
    { objects, random: platform.random },
    { serviceClusterIpRanges: ['10.43.0.0/16'] },
  );
  const definitions = createResourceDefinitions({
    objects,
    platform,
    serviceAllocator,
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const server = await startTestServer({ platform, storage, definitions, admission }, { runtimeConfig });
  serviceAllocator.start();
  return { ...server, platform };
}
