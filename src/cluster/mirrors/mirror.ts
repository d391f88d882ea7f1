/** What the proxy knows of one endpoint of a mirror whose repositories have other names than the pods' images. */
import type { RewriteName } from './rewrite-name.ts';

/** Paths of files in PEM form, read at each use, as by containerd; the system's authorities are read once. */
export interface MirrorTls {
  readonly ca_file?: string;
  readonly cert_file?: string;
  readonly key_file?: string;
  readonly insecure_skip_verify?: boolean;
}

/** Credentials of one host. */
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  /** Base64 of `username:password`. */
  readonly auth?: string;
  readonly identityToken?: string;
}

export interface Mirror {
  /** The URL before the name of a repository, such as `https://mirror.example.com/v2`. */
  readonly url: string;
  readonly tls?: MirrorTls | undefined;
  readonly auth?: RegistryAuth | undefined;
  readonly rewrite: RewriteName;
}
