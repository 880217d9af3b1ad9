// Translations into a `ServiceError`.

/// An error of the library that adds something to a `ServiceError`.
protocol ServiceErrorWrapper: Error {
    var error: ServiceError { get }
}

extension ServiceError {
    /// Translates an error of foreign code where it enters the library; `otherwise` maps any other error.
    ///
    /// A `CancellationError` means `.cancelled` only in a cancelled task, which is also how a running call is stopped.
    /// Foreign code may throw one for reasons of its own, and apps show nothing for `.cancelled`: then it counts as any
    /// other error.
    init(_ error: any Error, otherwise: (any Error) -> ServiceError) {
        switch error {
        case let error as ServiceError: self = error
        case let error as any ServiceErrorWrapper: self = error.error
        case is CancellationError where Task.isCancelled: self = .cancelled
        default: self = otherwise(error)
        }
    }
}

/// Returns the name of an error of foreign code: its type, and its case if it is an enum. Its payload is left out,
/// because it may be secret.
func foreignName(of error: any Error) -> String {
    let mirror = Mirror(reflecting: error)
    let name = String(reflecting: type(of: error))
    guard mirror.displayStyle == .enum else { return name }
    return "\(name).\(mirror.children.first?.label ?? String(describing: error))"
}

extension ServiceError: CancellationFailure {}
