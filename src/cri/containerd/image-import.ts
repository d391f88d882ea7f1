/**
 * Imports an image built in memory into containerd through its content and image services. Upstream: `ctr images
 * import`.
 *
 * Blobs carry a garbage-collection root label until the image refers to them; existing blobs and images are kept, and
 * an image name with another target is moved.
 */
import type { Clock } from '../../platform/clock.ts';
import { formatTime } from '../../api/time.ts';
import { isCriCode } from '../cri-error.ts';
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import type { OciBlob, OciImage } from '../oci-image.ts';
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';
import type { CriImageService } from '../gen/cri-types.ts';

/** The used part of containerd.services.content.v1. */
export const CONTENT_TABLE = {
  package: 'containerd.services.content.v1',
  enums: { WriteAction: 'STAT WRITE COMMIT' },
  messages: {
    WriteContentRequest:
      'action:1:WriteAction ref:2:string total:3:int64 expected:4:string offset:5:int64 data:6:bytes labels:7:map<string,string>',
    WriteContentResponse: 'action:1:WriteAction offset:4:int64 total:5:int64 digest:6:string',
    Info: 'digest:1:string size:2:int64 labels:5:map<string,string>',
    InfoRequest: 'digest:1:string',
    InfoResponse: 'info:1:Info',
    FieldMask: 'paths:1:[]string',
    UpdateRequest: 'info:1:Info update_mask:2:FieldMask',
    UpdateResponse: 'info:1:Info',
    AbortRequest: 'ref:1:string',
    Empty: '',
  },
  services: {
    Content: {
      Write: 'stream WriteContentRequest stream WriteContentResponse',
      Info: 'InfoRequest InfoResponse',
      Update: 'UpdateRequest UpdateResponse',
      Abort: 'AbortRequest Empty',
    },
  },
} as const satisfies ProtobufTable;

/** The used part of containerd.services.images.v1. */
export const IMAGES_TABLE = {
  package: 'containerd.services.images.v1',
  enums: {},
  messages: {
    Descriptor: 'media_type:1:string digest:2:string size:3:int64',
    Image: 'name:1:string labels:2:map<string,string> target:3:Descriptor',
    CreateImageRequest: 'image:1:Image',
    CreateImageResponse: 'image:1:Image',
    UpdateImageRequest: 'image:1:Image',
    UpdateImageResponse: 'image:1:Image',
  },
  services: {
    Images: { Create: 'CreateImageRequest CreateImageResponse', Update: 'UpdateImageRequest UpdateImageResponse' },
  },
} as const satisfies ProtobufTable;

export interface ImageImportDeps {
  readonly socketPath: string;
  /** Namespace of containerd; CRI's is `k8s.io`. */
  readonly namespace?: string;
  readonly clock: Clock;
  /** Polled until CRI knows the image. */
  readonly images: CriImageService;
}

/** Which image under which name. */
export interface ImageImport {
  readonly name: string;
  readonly image: OciImage;
  /** Never removed by image garbage collection. */
  readonly pinned?: boolean;
  readonly signal?: AbortSignal;
}

async function writeBlob(caller: GrpcCaller, blob: OciBlob, labels: Readonly<Record<string, string>>): Promise<void> {
  const request = {
    action: 'COMMIT',
    ref: `keelson-${blob.digest}`,
    total: blob.data.length,
    expected: blob.digest,
    offset: 0,
    data: blob.data,
    labels,
  };
  const method = { service: 'containerd.services.content.v1.Content', method: 'Write' };
  try {
    for await (const answer of caller.stream(method, request, {})) void answer;
  } catch (error) {
    if (!isCriCode(error, 'AlreadyExists')) throw error;
  }
}

/** The labels by which CRI manages an image, and by which garbage collection skips it. */
export function imageLabels(pinned: boolean): Readonly<Record<string, string>> {
  return { 'io.cri-containerd.image': 'managed', ...(pinned ? { 'io.cri-containerd.pinned': 'pinned' } : {}) };
}

/** The descriptor that an image's name points to. */
export interface ImageRecord {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly target: { readonly mediaType: string; readonly digest: string; readonly size: number };
}

/** Creates an image name, or moves an existing one to this target. */
export async function putImage(caller: GrpcCaller, image: ImageRecord): Promise<void> {
  const request = { image };
  const service = 'containerd.services.images.v1.Images';
  try {
    await caller.unary({ service, method: 'Create' }, request, {});
  } catch (error) {
    if (!isCriCode(error, 'AlreadyExists')) throw error;
    await caller.unary({ service, method: 'Update' }, request, {});
  }
}

/** Imports an image and resolves when CRI lists it. Rejects with GrpcError, or when CRI has not seen it after ten seconds. */
export async function importImage(deps: ImageImportDeps, request: ImageImport): Promise<void> {
  const { createGrpcCaller } = await import('../../grpc/grpc-caller.ts');
  const headers = { 'containerd-namespace': deps.namespace ?? 'k8s.io' };
  const caller = createGrpcCaller(
    { clock: deps.clock },
    { target: { socketPath: deps.socketPath }, tables: [CONTENT_TABLE, IMAGES_TABLE], headers },
  );
  const { image } = request;
  const root = { 'containerd.io/gc.root': formatTime(deps.clock.nowMs()) };
  const children = Object.fromEntries(
    [image.config, ...image.layers].map((blob, index) => [`containerd.io/gc.ref.content.${index}`, blob.digest]),
  );
  for (const blob of [...image.layers, image.config]) await writeBlob(caller, blob, root);
  await writeBlob(caller, image.manifest, { ...root, ...children });
  const { mediaType, digest, data } = image.manifest;
  const labels = imageLabels(request.pinned === true);
  await putImage(caller, { name: request.name, labels, target: { mediaType, digest, size: data.length } });
  for (let attempt = 0; attempt < 200; attempt++) {
    const imageStatusResponse = await deps.images.imageStatus({ image: { image: request.name } }, request);
    if (imageStatusResponse.image !== undefined) return;
    await deps.clock.sleep(attempt < 20 ? 5 : 50, request.signal);
  }
  throw new Error(`image ${request.name} was imported but CRI does not list it`);
}
