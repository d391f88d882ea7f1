/** `--registry`, of `keelson up`, `server` and `agent`. */
import { Option } from 'commander';
import { UserError } from './usage-error.ts';

/** As given: true where it has no port. */
export type RawRegistry = string | true | undefined;

/** minikube and many tutorials use 5000, which AirPlay and Debian's registry have. */
const DEFAULT_PORT = 5001;

export function registryOption(): Option {
  return new Option(
    '--registry [port]',
    'serve a registry at localhost:PORT (default: 5001) that programs push to and pods pull from',
  );
}

/** Throws `UserError` with exit code 2. */
export function parseRegistry(raw: RawRegistry): { readonly registryPort?: number } {
  if (raw === undefined || raw === 'false') return {};
  const port = raw === true || raw === 'true' ? DEFAULT_PORT : Number(raw);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UserError(`--registry: ${raw} is not a port between 1 and 65535`, 2);
  return { registryPort: port };
}
