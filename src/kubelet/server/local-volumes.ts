/**
 * `DELETE /localVolumes/NAME`: removes the directory `NAME_...` of a local-path volume below the configured root.
 * Idempotent; a caller can remove nothing else. Upstream has no such route.
 */
import { localPathPrefix } from '../../component-helpers/local-path.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { textResponse } from './text-response.ts';

export interface LocalVolumesDeps {
  readonly files: Platform['files'];
  /** The directory of local-path volumes. */
  readonly root: string;
}

/** Containers of a pod that was deleted by force may still run and change the volume. */
const CONTAINERS_MAY_CHANGE_IT = { mayChange: true };

/** Answers 200 when the volume's directory does not exist any more. */
export async function serveLocalVolumes(
  { files, root }: LocalVolumesDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (request.method !== 'DELETE') return textResponse(405, 'Method Not Allowed\n');
  const [name = ''] = parts;
  // The form of volume names: without underscore, so that the prefix identifies one volume, and without slash.
  if (parts.length !== 1 || !/^[a-z0-9][-a-z0-9.]*$/.test(name)) return textResponse(400, 'invalid volume name\n');
  const children = (await files.exists(root)) ? await files.readDir(root) : [];
  for (const child of children)
    if (child.startsWith(localPathPrefix(name))) await files.remove(`${root}/${child}`, CONTAINERS_MAY_CHANGE_IT);
  return textResponse(200, 'ok');
}
