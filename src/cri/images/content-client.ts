/**
 * containerd's content, image and lease services, which import an image without a registry. A lease holds everything
 * that is written until images refer to it, so that garbage collection removes nothing in between.
 */
import type { Clock } from '../../platform/clock.ts';
import { formatTime } from '../../api/time.ts';
import { createGrpcCaller, type GrpcCaller } from '../../grpc/grpc-caller.ts';
import { isGrpcCode, type GrpcError } from '../../grpc/grpc-error.ts';
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';
import { CONTENT_TABLE, imageLabels, IMAGES_TABLE, putImage } from '../containerd/image-import.ts';

const LEASES_TABLE = {
  package: 'containerd.services.leases.v1',
  enums: {},
  messages: {
    Lease: 'id:1:string',
    CreateRequest: 'id:1:string labels:3:map<string,string>',
    CreateResponse: 'lease:1:Lease',
    DeleteRequest: 'id:1:string sync:2:bool',
    Empty: '',
  },
  services: { Leases: { Create: 'CreateRequest CreateResponse', Delete: 'DeleteRequest Empty' } },
} as const satisfies ProtobufTable;

const SERVICES = {
  content: 'containerd.services.content.v1.Content',
  images: 'containerd.services.images.v1.Images',
  leases: 'containerd.services.leases.v1.Leases',
} as const;

/** A lease left behind by a killed process expires. */
const LEASE_MS = 3_600_000;
const MESSAGE_BYTES = 2 * 1024 * 1024;

/** The descriptor that an image's name points to. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface ContentClient {
  /** Writes a blob unless it exists; containerd computes its digest, which is compared with `digest` if given. */
  write(blob: Blob): Promise<WrittenBlob>;
  has(digest: string): Promise<boolean>;
  /** The blobs that a blob refers to, for garbage collection. */
  setReferences(digest: string, references: readonly string[]): Promise<void>;
  /** Creates an image name, or moves an existing one to this target. */
  putImage(name: string, target: Descriptor, pinned: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface WrittenBlob {
  readonly digest: string;
  /** False when the blob existed. */
  readonly written: boolean;
}

/** Opens the services of a containerd with a lease. Rejects with GrpcError; `Unimplemented` by other runtimes. */
export async function openContentClient(clock: Clock, socketPath: string, random: string): Promise<ContentClient> {
  const tables = [CONTENT_TABLE, IMAGES_TABLE, LEASES_TABLE];
  const open = (headers: Readonly<Record<string, string>>): GrpcCaller =>
    createGrpcCaller(
      { clock },
      { target: { socketPath }, tables, headers: { 'containerd-namespace': 'k8s.io', ...headers } },
    );
  const lease = `keelson-load-${random}`;
  const outside = open({});
  const labels = { 'containerd.io/gc.expire': formatTime(clock.nowMs() + LEASE_MS) };
  await outside.unary({ service: SERVICES.leases, method: 'Create' }, { id: lease, labels }, {});
  const caller = open({ 'containerd-lease': lease });
  let writes = 0;
  return {
    write: (blob) => writeBlob(caller, `${lease}-${writes++}`, blob),
    async has(digest) {
      try {
        await caller.unary({ service: SERVICES.content, method: 'Info' }, { digest }, {});
        return true;
      } catch (error) {
        if (isGrpcCode(error, 'NotFound')) return false;
        throw error;
      }
    },
    async setReferences(digest, references) {
      const own = Object.fromEntries(references.map((each, index) => [`containerd.io/gc.ref.content.${index}`, each]));
      const updateMask = { paths: Object.keys(own).map((label) => `labels.${label}`) };
      if (references.length > 0)
        await caller.unary(
          { service: SERVICES.content, method: 'Update' },
          { info: { digest, labels: own }, updateMask },
          {},
        );
    },
    putImage: (name, target, pinned) => putImage(caller, { name, labels: imageLabels(pinned), target }),
    async close() {
      try {
        await outside.unary({ service: SERVICES.leases, method: 'Delete' }, { id: lease }, {});
      } finally {
        caller.disconnect();
        outside.disconnect();
      }
    },
  };
}

interface Blob {
  readonly digest?: string | undefined;
  readonly size: number;
  readonly body: AsyncIterable<Uint8Array>;
}

async function writeBlob(caller: GrpcCaller, ref: string, { digest, size, body }: Blob): Promise<WrittenBlob> {
  const method = { service: SERVICES.content, method: 'Write' };
  const begun = Promise.withResolvers<void>();
  begun.promise.catch(() => undefined); // the call itself fails with the same error
  let sending: unknown;
  const requests = async function* (): AsyncGenerator<object> {
    yield { action: 'STAT', ref, total: size, expected: digest ?? '' };
    await begun.promise;
    let offset = 0;
    try {
      for await (const data of pieces(body, MESSAGE_BYTES)) {
        yield { action: 'WRITE', ref, offset, data };
        offset += data.length;
      }
    } catch (error) {
      sending = error; // an error of the archive, not of the call
      throw error;
    }
    yield { action: 'COMMIT', ref, offset, total: size, expected: digest ?? '' };
  };
  let last = '';
  try {
    for await (const answer of caller.stream(method, requests(), {})) {
      begun.resolve();
      last = (answer as { digest?: string }).digest || last;
    }
    return { digest: last, written: true };
  } catch (error) {
    begun.reject(error);
    if (sending === undefined && isGrpcCode(error, 'AlreadyExists')) {
      const there = digest ?? /sha256:[0-9a-f]{64}/.exec((error as GrpcError).message)?.[0];
      if (there !== undefined) return { digest: there, written: false };
    }
    await caller.unary({ service: SERVICES.content, method: 'Abort' }, { ref }, {}).catch(() => undefined); // Nothing begun.
    throw sending ?? error;
  }
}

/** Joins small chunks and splits large ones into messages of about equal size. */
async function* pieces(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let [waiting, length]: [Uint8Array[], number] = [[], 0];
  for await (const chunk of body) {
    waiting.push(chunk);
    length += chunk.length;
    if (length < bytes) continue;
    yield waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting);
    [waiting, length] = [[], 0];
  }
  if (length > 0) yield Buffer.concat(waiting);
}
