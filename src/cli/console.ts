/** `keelson console`: a link to the console in the browser that signs in once, opened where there is a browser. */
import { Command } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
  readonly kubeconfig?: string;
  readonly print?: boolean;
}

export function consoleCommand(): Command {
  return new Command('console')
    .description('open the console in the browser, signed in as the user of the kubeconfig')
    .addOption(dataDirOption())
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, or the administrator’s file of the data directory')
    .option('--print', 'print the link and open nothing')
    .action(async (raw: RawOptions) => {
      const link = await requestLink(raw);
      process.stdout.write(`${link}\n`);
      if (raw.print === true) return;
      process.stderr.write('the link signs in once, within a minute\n');
      const { openBrowser } = await import('./console/open-browser.ts');
      if (!(await openBrowser(link)))
        process.stderr.write('there is no browser to open here: copy the link into one\n');
    });
}

async function requestLink(raw: RawOptions): Promise<string> {
  const { openKubeClient } = await import('./kube-client.ts');
  const { isReason } = await import('../api/status-error.ts');
  const kube = await openKubeClient(raw, 'keelson-console');
  try {
    const { body } = await kube.client.raw({ method: 'POST', path: '/console/link' });
    return `${kube.server}${(JSON.parse(Buffer.from(body).toString()) as { readonly path: string }).path}`;
  } catch (error) {
    if (isReason(error, 'NotFound')) throw new UserError(`${kube.server} serves no console`);
    throw error;
  } finally {
    kube.close();
  }
}
