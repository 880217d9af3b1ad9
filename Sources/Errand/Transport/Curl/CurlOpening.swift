#if os(Linux)
import CCurl

/// Opens libcurl for a transport, and creates its loop.
///
/// That happens with the transport, so that its first request does not wait for it. If it fails then, for instance
/// because the process has no descriptor left, each request tries it again.
///
/// States: created with the transport, or else waiting for a request, created by a request, or ended.
final class CurlOpening: Sendable {
    private enum Later {
        case waiting
        case created(CurlLoop)
        case ended
    }

    private let options: CurlTransport.Options
    /// The loop that was created with the transport: no request needs the lock then.
    private let first: CurlLoop?
    private let later = Lock(Later.waiting)

    init(_ options: CurlTransport.Options) {
        self.options = options
        first = try? Self.create(options)
    }

    /// The loop, if there is one.
    var existing: CurlLoop? {
        if let first { return first }
        return later.withLock { if case .created(let loop) = $0 { loop } else { nil } }
    }

    /// Returns the loop. Throws why it cannot be created.
    func loop() throws(ServiceError) -> CurlLoop {
        if let first { return first }
        return try createdLater().get()
    }

    private func createdLater() -> Result<CurlLoop, ServiceError> {
        later.withLock { later in
            switch later {
            case .created(let loop): return .success(loop)
            case .ended: return .failure(.transportShutDown(mayHaveReachedServer: false))
            case .waiting:
                return Result { () throws(ServiceError) in
                    let loop = try Self.create(options)
                    later = .created(loop)
                    return loop
                }
            }
        }
    }

    /// Prevents later requests from creating the loop. Returns the loop, if there is one.
    func end() -> CurlLoop? {
        if let first { return first }
        return later.withLock { later in
            if case .created(let loop) = later { return loop }
            later = .ended
            return nil
        }
    }

    private static func create(_ options: CurlTransport.Options) throws(ServiceError) -> CurlLoop {
        guard ccurl_open() else {
            let kind: TransportFailure.Kind = ccurl_lacks_resources() ? .outOfResources : .unavailable
            throw .transport(TransportFailure(kind, String(cString: ccurl_problem())))
        }
        guard let handles = CurlHandles(), let core = CurlCore(handles) else {
            throw ccurl_has_descriptors() ? .curlHasNoMemory : .curlHasNoDescriptors
        }
        let queues = CurlQueues(connections: options.connectionsPerOrigin, streams: options.streamsPerOrigin)
        let http3 = options.http3 == .never ? nil : CurlHTTP3(isAssumed: options.http3 == .assumed)
        return CurlLoop(core, pool: CurlPool(queues, handles, http3))
    }
}
#endif
