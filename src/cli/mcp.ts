/**
 * `keelson mcp`: the cluster for assistants, by the Model Context Protocol over stdin and stdout. It reads with the rights of
 * the kubeconfig and changes nothing.
 */
import { Command } from 'commander';
import { dataDirOption } from './cluster-options.ts';

interface RawOptions {
  readonly dataDir: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly secrets?: true;
}

export function mcpCommand(): Command {
  return new Command('mcp')
    .description(
      'serve the Model Context Protocol over stdin and stdout: why, trouble, objects, events and logs, read-only',
    )
    .option('-n, --namespace <namespace>', 'namespace where a question names none (default: the one of the kubeconfig)')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .option('--secrets', 'answers hold the values of secrets')
    .addOption(dataDirOption())
    .action(async (raw: RawOptions) => {
      const { openKubeClient } = await import('./kube-client.ts');
      const { createMcpServer } = await import('./mcp/server.ts');
      const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
      const { client, namespace, nowMs, close } = await openKubeClient(raw, 'keelson-mcp');
      const context = { client, namespace, nowMs, showsSecrets: raw.secrets === true };
      const server = createMcpServer(context);
      // A message that cannot be read, or is too long and ends the connection.
      server.server.onerror = (error) => console.error(`keelson mcp: ${error.message}`);
      const ended = new Promise<void>((resolve) => {
        server.server.onclose = resolve;
      });
      try {
        await server.connect(new StdioServerTransport());
        await ended;
      } finally {
        close();
      }
    });
}
