/** Errors of CRI calls are gRPC's, under the names the kubelet uses. */

export { GrpcError as CriError, isGrpcCode as isCriCode } from '../grpc/grpc-error.ts';
