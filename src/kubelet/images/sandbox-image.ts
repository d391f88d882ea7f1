/** The image of the runtime's sandboxes: older runtimes do not report it as pinned, and no container uses it. */
import type { CriRuntimeService } from '../../cri/gen/cri-types.ts';

/** Its name in the configuration that containerd reports; undefined for runtimes that report none. */
export async function sandboxImageOf(runtime: Pick<CriRuntimeService, 'status'>): Promise<string | undefined> {
  const { info } = await runtime.status({ verbose: true });
  const text = info['config'];
  if (text === undefined) return undefined;
  try {
    const { sandboxImage } = JSON.parse(text) as { sandboxImage?: unknown };
    return typeof sandboxImage === 'string' && sandboxImage !== '' ? sandboxImage : undefined;
  } catch {
    return undefined; // another runtime's configuration
  }
}
