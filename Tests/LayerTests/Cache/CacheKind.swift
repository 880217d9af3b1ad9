@testable import Errand
import ErrandTestSupport
import Foundation

extension CacheKind {
    func store(in scratch: Scratch, bytes: Int) -> any CacheStore {
        switch self {
        case .memory: MemoryCacheStore(bytes: bytes)
        case .disk: DiskCacheStore(scratch.path("cache"), bytes: bytes)
        }
    }
}

/// Returns the paths of all files of responses in the folder of a cache, relative to it.
func responseFiles(in folder: String) -> [String] {
    let all = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
    return all.filter { name in
        guard let area = name.firstIndex(of: "/").map({ String(name[..<$0]) }) else { return false }
        return CachePlace.isArea(area) && !CachePlace.isFolder(name)
    }.sorted()
}

/// Runs work on files in the current task, as in virtual time: then nothing has to be waited for.
func withoutDiskThreads<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    try await VirtualTime.$isUnderWay.withValue(true) { try await body() }
}

extension CacheSample {
    static func key(_ path: String = "/x", session: UUID? = nil, credentials: [UInt8]? = nil) -> CacheKey {
        let url = HTTPURL(origin: url.origin, path: path, query: nil)
        return CacheKey(
            resource: .url(url), partition: CacheKey.Partition(session: session, credentials: credentials))
    }

    static func named(_ name: String) -> CacheKey {
        CacheKey(resource: .named(name, url.origin), partition: .everybody)
    }

    /// A response with a body of that size, which repeats a letter.
    static func response(
        _ path: String = "/x", size: Int = 0, letter: UInt8 = 65, vary: String? = nil, tags: Set<String> = [],
        groups: String? = nil, at seconds: Double = 0
    ) -> StoredResponse {
        var headers: HTTPHeaders = ["Content-Type": "text/plain"]
        headers["Cache-Groups"] = groups
        let control = CacheControl(["max-age=60, stale-if-error=5"])
        let freshness = CacheFreshness(
            headers, status: 200, control: control, delay: .zero, received: moment(seconds))
        let url = HTTPURL(origin: url.origin, path: path, query: nil)
        let variant = vary.map { CacheVariant.of(["A": $0], varyingOn: ["a"]) { _ in false } } ?? .none
        return StoredResponse(
            url: url, status: 200, headers: headers, body: Data(repeating: letter, count: size), freshness: freshness,
            control: control, variant: variant, tags: tags)
    }
}

extension CacheStore {
    /// Looks a response up as the layer does.
    func find(_ key: CacheKey, a value: String? = nil) async -> StoredResponse? {
        let headers: HTTPHeaders = value.map { ["A": $0] } ?? [:]
        let matches = { @Sendable (variant: CacheVariant) in variant.matches(headers) { _ in false } }
        return switch lookup(key, matching: matches) {
        case .found(let response): response
        case .nothing: nil
        case .unknown: await read(key, in: CallScope(), matching: matches)
        }
    }

    @discardableResult
    func put(_ response: StoredResponse, _ key: CacheKey) async -> CacheStatus.Reason? {
        await insert(response, at: key) { false }
    }
}
