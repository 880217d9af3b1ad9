@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("Responses in memory") struct MemoryCacheStoreTests {
    private func response(
        _ path: String = "/x", size: Int = 0, vary: String? = nil, tags: Set<String> = [], groups: String? = nil
    ) -> StoredResponse {
        var headers: HTTPHeaders = [:]
        headers["Cache-Groups"] = groups
        let freshness = CacheFreshness(
            [:], status: 200, control: CacheControl([]), delay: .zero, received: CacheSample.moment(0))
        let url = HTTPURL(origin: CacheSample.url.origin, path: path, query: nil)
        let variant = vary.map { CacheVariant.of(["A": $0], varyingOn: ["a"]) { _ in false } } ?? .none
        return StoredResponse(
            url: url, status: 200, headers: headers, body: Data(count: size), freshness: freshness,
            control: CacheControl([]), variant: variant, tags: tags)
    }

    private func key(_ path: String = "/x", session: UUID? = nil) -> CacheKey {
        let url = HTTPURL(origin: CacheSample.url.origin, path: path, query: nil)
        return CacheKey(resource: .url(url), partition: CacheKey.Partition(session: session))
    }

    private func find(_ store: MemoryCacheStore, _ key: CacheKey, a value: String? = nil) -> StoredResponse? {
        let headers: HTTPHeaders = value.map { ["A": $0] } ?? [:]
        return store.look(at: key) { $0.matches(headers) { _ in false } }
    }

    @Test("K3: each variant has its entry, and a new one replaces its own kind only")
    func variants() {
        let store = MemoryCacheStore(bytes: 100_000)
        let (one, two, again) = (response(vary: "1"), response(vary: "2"), response(vary: "1"))
        for response in [one, two, again] { #expect(store.insert(response, at: key()) { false } == nil) }
        #expect(find(store, key(), a: "1") === again && find(store, key(), a: "2") === two)
        #expect(find(store, key(), a: "3") == nil && store.extent.responses == 2)
    }

    @Test("the number of variants is limited: the first goes")
    func manyVariants() {
        let store = MemoryCacheStore(bytes: 10_000_000)
        for number in 0..<100 { _ = store.insert(response(vary: "\(number)"), at: key()) { false } }
        #expect(store.extent.responses == 32)
        #expect(find(store, key(), a: "99") != nil && find(store, key(), a: "67") == nil)
    }

    @Test("tags and groups take room, too")
    func namesTakeRoom() {
        let (plain, tagged) = (response(), response(tags: Set((0..<100).map { "tag\($0)" })))
        #expect(tagged.size > plain.size + 100 * 64)
        #expect(response(groups: "\"one\", \"two\"").size > plain.size + 2 * 64)
    }

    @Test("the response that was not used for the longest time goes first")
    func eviction() {
        let store = MemoryCacheStore(bytes: 12_000)
        for path in ["/1", "/2", "/3", "/4"] { _ = store.insert(response(path, size: 1600), at: key(path)) { false } }
        #expect(store.extent.responses == 4)
        #expect(find(store, key("/1")) != nil)
        _ = store.insert(response("/5", size: 1600), at: key("/5")) { false }
        #expect(store.extent.responses == 4)
        #expect(find(store, key("/2")) == nil && find(store, key("/1")) != nil && find(store, key("/5")) != nil)
    }

    @Test("a response that is too large is not stored, and what it would replace is removed")
    func tooLarge() {
        let store = MemoryCacheStore(bytes: 10_000)
        #expect(store.insert(response(size: 100), at: key()) { false } == nil)
        #expect(store.insert(response(size: 3000), at: key()) { false } == .tooLarge)
        #expect(store.extent == (0, 0))
    }

    @Test("K11: a response that was overtaken is not stored")
    func overtaken() {
        let store = MemoryCacheStore(bytes: 10_000)
        #expect(store.insert(response(), at: key()) { true } == .overtaken)
        #expect(store.extent == (0, 0))
    }

    @Test("K6, K7: a removal removes what it covers, for everybody, and nothing else")
    func removals() {
        let (ann, ben) = (UUID(), UUID())
        func filled() -> MemoryCacheStore {
            let store = MemoryCacheStore(bytes: 100_000)
            for session in [nil, ann, ben] {
                _ = store.insert(response("/x", tags: ["t"]), at: key("/x", session: session)) { false }
            }
            _ = store.insert(response("/y", groups: "\"g\""), at: key("/y", session: ann)) { false }
            let named = CacheKey(resource: .named("n", CacheSample.url.origin), partition: .everybody)
            _ = store.insert(response("/z"), at: named) { false }
            return store
        }
        let other = Origin(scheme: "https", host: "other.test", port: nil)
        let cases: [(CacheRemoval, Int)] = [
            (.resource(key("/x").resource), 2), (.resource(key("/y").resource), 4), (.resource(key("/z").resource), 4),
            (.resource(key("/q").resource), 5), (.resource(.named("n", CacheSample.url.origin)), 4), (.tag("t"), 2),
            (.tag("u"), 5), (.group("g", CacheSample.url.origin), 4), (.group("g", other), 5), (.session(ann), 3),
            (.session(UUID()), 5), (.everything, 0),
        ]
        for (removal, left) in cases {
            let store = filled()
            store.remove(removal)
            #expect(store.extent.responses == left, "\(removal)")
        }
    }

    /// Against a store that is as simple as possible: a list in the order of use.
    @Test("K7: 20,000 random steps: the same responses as in a list, within the limit, in the order of their use")
    func walk() {
        var random = SeededRandom(11)
        let limit = 20_000
        let store = MemoryCacheStore(bytes: limit)
        var model: [(key: CacheKey, response: StoredResponse)] = []
        for _ in 0..<20_000 {
            let path = "/\(random.int(0...30))"
            let key = key(path)
            switch random.int(0...9) {
            case 0:
                store.remove(.resource(key.resource))
                model.removeAll { $0.key == key }
            case 1...4:
                let found = find(store, key)
                let index = model.firstIndex { $0.key == key }
                #expect(found === index.map { model[$0].response })
                if let index { model.append(model.remove(at: index)) }
            default:
                let response = response(path, size: random.int(0...4000))
                model.removeAll { $0.key == key }
                _ = store.insert(response, at: key) { false }
                if response.size <= limit / 4 { model.append((key, response)) }
                while model.reduce(0, { $0 + $1.response.size }) > limit { model.removeFirst() }
            }
            let bytes = model.reduce(0) { $0 + $1.response.size }
            #expect(store.extent == (model.count, bytes) && bytes <= limit)
        }
        store.remove(.everything)
        #expect(store.extent == (0, 0))
    }

    @Test("K11: a removal overtakes the requests that began before it, and those whose beginning is forgotten")
    func positions() {
        var removals = CacheRemovals()
        let before = removals.position
        removals.note(.tag("t"))
        #expect(removals.overtook(response(tags: ["t"]), at: key(), since: before))
        #expect(!removals.overtook(response(tags: ["u"]), at: key(), since: before))
        #expect(!removals.overtook(response(tags: ["t"]), at: key(), since: removals.position))
        // The same removal again takes no more room.
        for _ in 0..<10_000 { removals.note(.tag("v")) }
        #expect(!removals.overtook(response(tags: ["u"]), at: key(), since: before))
        for index in 0..<CacheRemovals.capacity { removals.note(.tag("v\(index)")) }
        #expect(removals.overtook(response(tags: ["u"]), at: key(), since: before))
        // Of those that are known, the newer half stays known, however often others are noted again.
        let kept = removals.position
        for _ in 0..<10_000 { removals.note(.tag("v9999")) }
        for index in 0..<CacheRemovals.capacity / 2 - 1 { removals.note(.tag("w\(index)")) }
        #expect(!removals.overtook(response(tags: ["u"]), at: key(), since: kept))
        #expect(removals.overtook(response(tags: ["w1"]), at: key(), since: kept))
    }

    /// Whether the removal covers the response, as simply as it can be said.
    private func covers(_ removal: CacheRemoval, _ response: StoredResponse, _ key: CacheKey) -> Bool {
        switch removal {
        case .resource(let resource): key.resource == resource || .url(response.url) == resource
        case .own(let url, let session): key.partition.session == session && response.url == url
        case .below(let origin, let path):
            response.url.origin == origin && "\(response.url.path)/".hasPrefix("\(path)/")
        case .tag(let tag): response.tags.contains(tag)
        case .group(let name, let origin): response.url.origin == origin && response.groups.contains(name)
        case .session(let session): key.partition.session == session
        case .everything: true
        }
    }

    @Test("K6, K7: a removal removes what it covers and nothing else, whatever is stored")
    func covered() throws {
        var random = SeededRandom(44)
        let (origins, words) = (["https://a.test", "https://b.test"], ["x", "y", "z"])
        let sessions = [UUID(), UUID()]
        func word() -> String { words.randomElement(using: &random) ?? "" }
        func url() throws -> HTTPURL {
            try HTTPURL(
                "\(origins.randomElement(using: &random) ?? "")/\(word())\(random.chance(50) ? "/\(word())" : "")")
        }
        let store = MemoryCacheStore(bytes: 1 << 20)
        var model: [(key: CacheKey, response: StoredResponse)] = []
        for _ in 0..<3000 {
            let place = try url()
            if random.chance(75) {
                let resource = random.chance(50) ? CacheKey.Resource.url(place) : .named(word(), place.origin)
                let session = random.chance(50) ? sessions[random.int(0...1)] : nil
                let key = CacheKey(resource: resource, partition: .init(session: session))
                let response = StoredResponse(
                    url: place, status: 200,
                    headers: random.chance(50) ? ["Cache-Groups": "\"\(word())\", \"\(word())\""] : [:], body: Data(),
                    freshness: CacheFreshness(lifetime: 1, initialAge: 0, received: CacheSample.moment(0)),
                    control: CacheControl([]), variant: .none, tags: random.chance(50) ? [word(), word()] : [])
                // A response takes over the tags of the one that it replaces.
                let tags = model.first { $0.key == key }?.response.tags ?? []
                model.removeAll { $0.key == key }
                model.append((key, response.tagged(tags)))
                #expect(store.insert(response, at: key) { false } == nil)
            } else {
                let removals: [CacheRemoval] = [
                    .resource(.url(place)), .resource(.named(word(), place.origin)), .tag(word()),
                    .group(word(), place.origin), .session(sessions[random.int(0...1)]), .everything, .below(place),
                    .own(place, sessions[0]),
                ].shuffled(using: &random)
                let chosen = Array(removals.prefix(random.int(1...2)))
                store.remove(chosen)
                model.removeAll { entry in chosen.contains { covers($0, entry.response, entry.key) } }
            }
            #expect(store.extent.responses == model.count)
        }
        for (key, response) in model {
            let found = store.look(at: key) { _ in true }
            #expect(found?.identity == response.identity && found?.tags == response.tags)
        }
        store.remove(.everything)
        #expect(store.extent == (0, 0))
    }
}
