/** A container cannot be configured yet; its message becomes the waiting state's under CreateContainerConfigError. */
export class ContainerConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ContainerConfigError';
  }
}
