/** Reads the files in the API server's flags. An invalid file is a `PreflightError` that names flag and file. */
import type { WebhookTarget } from '../../apiserver/webhook/webhook-target.ts';
import { errorMessage } from '../../base/errors.ts';
import type { BasePlatform, Platform } from '../../platform/platform.ts';
import { PreflightError } from '../preflight-error.ts';

export type SetupPlatform = Pick<Platform, 'files' | 'net' | 'host' | keyof BasePlatform>;

export class OptionFiles {
  readonly #platform: SetupPlatform;

  constructor(platform: SetupPlatform) {
    this.#platform = platform;
  }

  async text(flag: string, path: string): Promise<string> {
    return this.read(flag, path, () => this.#platform.files.readText(path));
  }

  /** Reads a flag's file and converts it by `make`. @throws PreflightError that names flag and file */
  async read<T>(flag: string, path: string, make: () => T | Promise<T>): Promise<T> {
    try {
      return await make();
    } catch (error) {
      throw new PreflightError(`--${flag}: ${path}: ${errorMessage(error)}`);
    }
  }

  async yaml(flag: string, path: string): Promise<unknown> {
    const text = await this.text(flag, path);
    const { parseYaml } = await import('../../api/codec/yaml.ts');
    return this.read(flag, path, () => parseYaml(text).value);
  }

  /** The server that a kubeconfig names. */
  webhookTarget(flag: string, path: string): Promise<WebhookTarget> {
    const { files, net, clock } = this.#platform;
    return this.read(flag, path, async () => {
      const { loadKubeconfig } = await import('../../client/kubeconfig.ts');
      const found = await loadKubeconfig({ files, net, clock, userAgent: 'keelson' }, path);
      const { server: url, tls = {}, token, tokenSource, basicAuth } = found;
      const headers = async (): Promise<Record<string, string>> => {
        const bearer = token ?? (await tokenSource?.token());
        if (bearer !== undefined) return { authorization: `Bearer ${bearer}` };
        if (basicAuth === undefined) return {};
        const pair = Buffer.from(`${basicAuth.username}:${basicAuth.password}`).toString('base64');
        return { authorization: `Basic ${pair}` };
      };
      return { url, tls, destination: async () => ({ url, headers: await headers() }) };
    });
  }
}
