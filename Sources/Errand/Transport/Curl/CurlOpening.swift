#if os(Linux)
import CCurl

/// Opens libcurl for a transport, and creates its loops.
///
/// That happens with the transport, so that its first request does not wait for it. If it fails then, for instance
/// because the process has no descriptor left, each request tries it again.
///
/// States: created with the transport, or else waiting for a request, created by a request, or ended.
final class CurlOpening: Sendable {
    private enum Later {
        case waiting
        case created(CurlLoops)
        case ended
    }

    private let options: CurlTransport.Options
    private let idleTime: Duration
    /// The loops that were created with the transport: no request needs the lock then.
    private let first: CurlLoops?
    private let later = Lock(Later.waiting)

    init(_ options: CurlTransport.Options, idleTime: Duration) {
        self.options = options
        self.idleTime = idleTime
        first = try? Self.create(options, idleTime)
    }

    /// The loops, if there are some.
    var existing: CurlLoops? {
        if let first { return first }
        return later.withLock { if case .created(let loops) = $0 { loops } else { nil } }
    }

    /// Returns the loops. Throws why they cannot be created.
    func loops() throws(ServiceError) -> CurlLoops {
        if let first { return first }
        return try createdLater().get()
    }

    private func createdLater() -> Result<CurlLoops, ServiceError> {
        later.withLock { later in
            switch later {
            case .created(let loops): return .success(loops)
            case .ended: return .failure(.transportShutDown(mayHaveReachedServer: false))
            case .waiting:
                return Result { () throws(ServiceError) in
                    let loops = try Self.create(options, idleTime)
                    later = .created(loops)
                    return loops
                }
            }
        }
    }

    /// Prevents later requests from creating loops. Returns those that there are.
    func end() -> CurlLoops? {
        if let first { return first }
        return later.withLock { later in
            if case .created(let loops) = later { return loops }
            later = .ended
            return nil
        }
    }

    private static func create(
        _ options: CurlTransport.Options, _ idleTime: Duration
    ) throws(ServiceError) -> CurlLoops {
        guard ccurl_open() else {
            let kind: TransportFailure.Kind = ccurl_lacks_resources() ? .outOfResources : .unavailable
            throw .transport(TransportFailure(kind, String(cString: ccurl_problem())))
        }
        let queues = CurlQueues(connections: options.connectionsPerOrigin, streams: options.streamsPerOrigin)
        let http3 = options.http3 == .never ? nil : CurlHTTP3(isAssumed: options.http3 == .assumed)
        let most = options.loops ?? min(CurlCores.usable, CurlChoice.limit)
        guard let handles = CurlHandles(),
            let loops = CurlLoops(handles, pool: CurlPool(queues, handles, http3, loops: most), idleTime: idleTime)
        else {
            throw ccurl_has_descriptors() ? .curlHasNoMemory : .curlHasNoDescriptors
        }
        return loops
    }
}
#endif
