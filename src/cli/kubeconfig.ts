/** `keelson kubeconfig`: prints the administrator's kubeconfig, or merges it into the user's. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { errorMessage } from '../base/errors.ts';
import { dataDirOption } from './cluster-options.ts';
import { ownEntry, publishKubeconfig } from './kubeconfig/publish.ts';
import { userKubeconfig } from './kubeconfig/user-file.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
  readonly merge?: string | boolean;
}

export function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description('print the kubeconfig of a cluster, or merge it into one of yours')
    .addOption(dataDirOption())
    .option('--merge [file]', 'add its context to this file (default: that of KUBECONFIG, or ~/.kube/config)')
    .action(async ({ dataDir, merge }: RawOptions) => {
      const dir = resolve(dataDir);
      if (merge === undefined) {
        ownEntry(dir);
        process.stdout.write(readFileSync(`${dir}/admin.kubeconfig`, 'utf8'));
        return;
      }
      const file = typeof merge === 'string' ? resolve(merge) : userKubeconfig();
      const name = await publishKubeconfig(dir, { file }).catch((error: unknown) => {
        throw error instanceof UserError ? error : new UserError(`${file} is left alone: ${errorMessage(error)}`);
      });
      process.stderr.write(`context ${name} is in ${file}\n`);
    });
}
