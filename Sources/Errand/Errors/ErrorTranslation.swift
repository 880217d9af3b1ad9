// All translations into a `ServiceError`: of the errors of HTTP and of storage, which are layers below and cannot throw
// one, and of the errors of foreign code.

extension ServiceError {
    /// Returns the error for a text that is not a valid URL.
    static func badURL(_ text: String, _ reason: String) -> ServiceError {
        ServiceError(HTTPFault.url(text, reason), hiding: .standard)
    }

    /// Runs `body`, and translates its HTTP fault, without what the redactor hides.
    static func checking<Value>(
        hiding redactor: @autoclosure () -> Redactor = .standard, _ body: () throws(HTTPFault) -> Value
    ) throws(ServiceError) -> Value {
        do throws(HTTPFault) {
            return try body()
        } catch {
            throw ServiceError(error, hiding: redactor())
        }
    }

    private init(_ fault: HTTPFault, hiding redactor: Redactor) {
        let subject: InvalidRequest.Subject =
            switch fault.part {
            case .url: .url
            case .method: .method
            case .header: .header
            }
        self = .invalidRequest(InvalidRequest(subject, fault.reason(hiding: redactor)))
    }
}

extension ServiceError {
    /// Returns the error for a file that cannot be sent or written to, found before the call begins.
    static func badFile(_ reason: String) -> ServiceError {
        .invalidRequest(InvalidRequest(.file, reason))
    }

    /// Returns the error for a file that could not be read or written during a call.
    static func unusableFile(_ reason: String) -> ServiceError {
        .transport(TransportFailure(.file, reason))
    }
}

/// An error of the library that adds something to a `ServiceError`.
protocol ServiceErrorWrapper: Error {
    var error: ServiceError { get }
}

extension ServiceError {
    /// Translates an error of foreign code where it enters the library; `otherwise` maps any other error.
    ///
    /// A `CancellationError` means `.cancelled` only in a canceled task, which is also how a running call is stopped.
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
