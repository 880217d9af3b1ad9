#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension HTTPCache {
    /// A response that is stored, without its content.
    public struct Entry: Sendable, Hashable {
        /// The URL of its request, without secret parameters; `nil` on a disk, where URLs are not kept.
        public let url: String?
        /// The status.
        public let status: Int
        /// The number of bytes that it takes, about.
        public let bytes: Int
        /// When it was received, or confirmed last.
        public let received: Date
        /// How long the server has called it fresh; `nil` if it has not said that.
        public let lifetime: Duration?
        /// The tags of the calls that have stored or used it.
        public let tags: Set<String>

        init(_ response: StoredResponse) {
            url = response.url.description
            (status, bytes, tags) = (response.status, response.size, response.tags)
            received = response.freshness.received.date
            lifetime = response.freshness.isGiven ? .seconds(response.freshness.lifetime) : nil
        }

        init(_ fields: CacheEntryFile.Fields, bytes: Int) {
            url = nil
            (status, self.bytes, tags) = (fields.status, bytes, Set(fields.tags))
            received = fields.received
            lifetime = fields.isGiven ? .seconds(fields.lifetime) : nil
        }
    }
}
