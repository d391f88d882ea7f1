/** The last lines of a start: where the kubeconfig is, and one next step. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { errorMessage } from '../../base/errors.ts';
import type { KubeconfigTarget } from './publish.ts';

/** Publishes the kubeconfig, unless the user keeps it out of other files, and prints the lines on stderr. */
export async function welcome(dataDir: string, target: KubeconfigTarget | undefined): Promise<void> {
  if (!existsSync(`${dataDir}/admin.kubeconfig`)) return; // an agent, whose cluster's servers have it
  const lines = [await kubeconfigLine(dataDir, target)];
  const has = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'kubectl')));
  const place = has || target !== undefined ? '' : ` --data-dir ${dataDir}`;
  lines.push(`next: ${has ? 'kubectl' : `keelson kubectl${place}`} get pods --all-namespaces`);
  for (const line of lines) process.stderr.write(`  ${line}\n`);
}

async function kubeconfigLine(dataDir: string, target: KubeconfigTarget | undefined): Promise<string> {
  const own = `export KUBECONFIG=${dataDir}/admin.kubeconfig`;
  if (target === undefined) return own;
  const { publishKubeconfig } = await import('./publish.ts');
  try {
    return `kubectl's context: ${await publishKubeconfig(dataDir, target)}, in ${target.file}`;
  } catch (error) {
    return `${own} (${target.file} is left alone: ${errorMessage(error)})`;
  }
}
