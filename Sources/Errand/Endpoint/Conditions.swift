extension Endpoint {
    /// Returns the same call, which the server carries out only if the resource still has that version.
    ///
    ///     try await client.run(.put("notes/7", body: .json(note)).ifMatch(version))
    ///
    /// Otherwise the call fails with `.rejected`, and ``Rejection/isPreconditionFailure`` is true. With
    /// ``EntityTag/any``, the resource must exist.
    ///
    /// A weak tag makes the call fail with `.invalidRequest`, because it would match nothing (RFC 9110, 13.1.1).
    public func ifMatch(_ version: EntityTag) -> Self {
        with { $0.options.ifMatch = version }
    }

    /// Returns the same call, which the server carries out only if the resource does not have that version. With
    /// ``EntityTag/any``, it must not exist yet:
    ///
    ///     try await client.run(.put("notes/7", body: .json(note)).ifNoneMatch(.any))
    ///
    /// Otherwise the call fails with `.rejected`: a call that changes something with the status 412, and one that only
    /// reads with 304. To read only what has changed, a client with a ``Configuration/cache`` needs no condition.
    public func ifNoneMatch(_ version: EntityTag) -> Self {
        with { $0.options.ifNoneMatch = version }
    }
}

extension UntypedEndpoint {
    /// Adds the conditions of the call to the headers. Throws `.invalidRequest` if one can never hold.
    func addConditions(to headers: inout HTTPHeaders) throws(ServiceError) {
        guard let options = ownOptions else { return }
        if let tag = options.ifMatch, tag.isWeak {
            let reason = "the tag \(tag) is weak, and matches nothing in `ifMatch`; the server has to send a strong one"
            throw .invalidRequest(InvalidRequest(.header, reason))
        }
        for (name, tag) in [("If-Match", options.ifMatch), ("If-None-Match", options.ifNoneMatch)] {
            guard let tag else { continue }
            if let problem = tag.problem { throw .invalidRequest(InvalidRequest(.header, problem)) }
            headers[name] = tag.description
        }
    }
}

extension Rejection {
    /// Whether a condition of the request does not hold (412): the resource has another version than the one in
    /// ``Endpoint/ifMatch(_:)``, or exists although it must not.
    public var isPreconditionFailure: Bool { status == 412 }

    /// Whether a condition may have failed because an earlier attempt of the same call has made the change, and its
    /// response was lost. To find out, read the resource.
    public var mayBeOwnChange: Bool { isPreconditionFailure && call.mayHaveActedBefore.value ?? false }
}
