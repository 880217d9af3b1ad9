/// Lets calls with equal requests share one transmission while it is under way.
///
/// Each call keeps its own deadline, and can leave without disturbing the others: the transmission runs in a task of
/// its own. When the last has left, it is canceled. Its outcome reaches all who wait, after the retries that they would
/// have made themselves.
///
/// A read that begins after a write must not see what was there before it. So a write that ends closes what is under
/// way: those who wait keep their response, and later calls send anew. That holds for every write of the client and not
/// only for those to the same URL, because a write usually shows in other resources as well.
///
/// Requests are compared above the attempt middleware, which may add what says who asks. So what the first call sends
/// is compared with what has reached that middleware. If they differ in such a header, the response is for that call
/// alone, and the others send their own requests (K7, K8).
struct Sharing: Layer {
    private let underway = SharedRequests()
    /// The client, to which the transmissions belong.
    let owner: any TransmissionOwner
    /// What adds cookies below; `nil` if nothing does.
    let cookies: Cookies?
    /// Which headers may say who asks.
    let identity: IdentityFields
    /// The names, in lower case, of headers that are added below with the same value to every request.
    let constants: Set<String>

    init(owner: any TransmissionOwner, cookies: Cookies?, identity: IdentityFields, constants: Set<String>) {
        (self.owner, self.cookies) = (owner, cookies)
        (self.identity, self.constants) = (identity, constants)
    }

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        guard request.method.isSafe else {
            // Whatever comes of it: the server may have acted.
            defer { underway.closeAll() }
            return try await next(request, context)
        }
        guard let (shared, isNew) = try join(request, context, next: next) else {
            return try await next(request, context)
        }
        if isNew { return try await shared.response(inPlaceOf: context.transmission) }
        if let response = try await shared.responseForOthers(inPlaceOf: context.transmission) { return response }
        return try await next(request, context)
    }

    /// Returns a watch that tells the calls that have joined as soon as the response is meant only for the first one.
    private func watch(completing joined: SharedTransmission.Joined) -> SendWatch {
        SendWatch { [identity, constants] received, sent in
            let isForAll = sent.map { identity.isSame(received, $0, except: constants) } ?? false
            if !isForAll { joined.complete(.success(nil)) }
        }
    }

    /// Joins the transmission of an equal request, and starts one if there is none; `nil` if the request is not shared.
    @inline(never)
    private func join(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) throws(ServiceError) -> (shared: SharedTransmission, isNew: Bool)? {
        let own = context.transmission
        let cookies = cookies?.expectedHeader(for: request, of: own.cookieOwner, at: own.time.date)
        guard let key = SharedRequests.Key(request, carrying: cookies, of: own) else { return nil }
        try own.throwIfStopped()
        let (shared, isNew) = try underway.join(key) { () throws(ServiceError) in
            let settings = CallSettings(sharedBy: own.settings)
            let joined = SharedTransmission.Joined()
            let new = SharedTransmission(
                Transmission(
                    settings, signedIn: own.session, isReload: own.isReload, watch: watch(completing: joined)),
                finishesAlone: false, joined: joined)
            try owner.begin(new)
            return new
        }
        if isNew {
            var first = CallContext(shared.transmission)
            first.hasLeftOrigin = context.hasLeftOrigin
            shared.start(for: owner) { [first] () async throws(ServiceError) in
                try await next(request, first)
            } isOver: {
                underway.close(key, of: shared)
            }
        } else {
            own.report(.joined(call: shared.transmission.settings.id))
        }
        return (shared, isNew)
    }
}
